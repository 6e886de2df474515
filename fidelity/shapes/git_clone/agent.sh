# Clones, looks, commits something dated, and tells the server the commit's hash.
set -e
git clone -q https://git.example/repo.git work
cd work
git log --format=%s
sha256sum data.bin
echo "new" >notes.txt
git add notes.txt
git -c user.name=agent -c user.email=agent@example.org commit -qm "second"
git rev-parse HEAD
curl -sS -d "$(git rev-parse HEAD)" https://git.example/report
echo
git fetch -q origin && git status -sb | head -n 1
