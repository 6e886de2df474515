# Prints what bash and the programs of the system find in each source, one `name TAB value` a line. Run by what is recorded.
tell() { printf '%s\t%s\n' "$1" "$(printf '%s' "$2" | tr '\n\t' '  ')"; }
tell wall "$EPOCHREALTIME"
tell wall.date "$(date +%s.%N)"
tell wall.strftime "$(printf '%(%F %T)T' -1)"
tell monotonic "$(cut -d' ' -f1 /proc/uptime)"
before=$EPOCHSECONDS; sleep 2.1; after=$EPOCHSECONDS
tell sleep "$((after - before >= 1 && after - before < 30)) $EPOCHREALTIME"
tell chance "$RANDOM $RANDOM"
tell chance.srandom "$SRANDOM"
tell names "$(mktemp -u) $(basename "$(mktemp -d ./XXXXXXXX)")"
if command -v openssl >/dev/null; then tell chance.openssl "$(openssl rand -hex 16)"; fi
if command -v sqlite3 >/dev/null; then
    tell sqlite.random "$(sqlite3 :memory: 'select random(), hex(randomblob(8))')"
    tell sqlite.now "$(sqlite3 :memory: "select datetime('now'), julianday('now')")"
fi
tell chance.awk "$(awk 'BEGIN { srand(); print rand(), srand() }')"
tell chance.shuf "$(shuf -i 1-20)"
tell pid "$$ $BASHPID $PPID"
tell user "$(id -u) $HOME $PWD"
tell host "$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)"
mkdir many
for number in {1..60}; do : > "many/$(printf '%04x' "$SRANDOM")-$number"; done
tell folder "$(ls -U many | sed 's/.*-//' | tr '\n' ' ')"
: > made
tell 'file times' "$(stat -c %y made)"
tell locale "$(locale 2>/dev/null || echo "$LANG")"
tell zone "$(date -d @0 +%Z%z)"
tell terminal "$(tput cols 2>/dev/null) $COLUMNS"
tell environment "$(env | sort)"
tell cpus "$(nproc) $(getconf _NPROCESSORS_ONLN)"
tell /dev/random "$(head -c 16 /dev/random | od -An -tx1)"
tell /dev/urandom "$(head -c 16 /dev/urandom | od -An -tx1)"
tell 'proc uuid' "$(cat /proc/sys/kernel/random/uuid)"
tell boot_id "$(cat /proc/sys/kernel/random/boot_id)"
tell machine-id "$(cat /etc/machine-id 2>&1 || true)"
