# What shell agents do: a page, a redirect, a form with a file, a retry, the date in a header.
set -e
curl -sS -L --fail https://api.example/moved
echo
date +%s%N >stamp
curl -sS -F turn=0 -F "first=@stamp" -F "second=@agent.sh" https://api.example/upload
echo
curl -sS --retry 2 --retry-delay 1 https://api.example/busy 2>/dev/null
echo
curl -sS -H "X-Date: $(date -u +%FT%T)" -d "$RANDOM" https://api.example/plain
echo
curl -sS -I https://api.example/head | head -n 1
