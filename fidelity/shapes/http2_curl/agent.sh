# HTTP/2 without any package: three requests on one connection, a body each way, and one that is not there.
set -e
curl -sS --http2 -d "$$ is my number" https://api.example/one https://api.example/two
echo
head -c 20000 /dev/urandom | curl -sS --http2 --data-binary @- https://api.example/random
echo
