"""Prints the boundary of a form that curl sends, as a server here gets it."""

import re
import socket
import subprocess

listener = socket.create_server(("127.0.0.1", 0))
listener.settimeout(60)
address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
sending = subprocess.Popen(["curl", "-s", "--noproxy", "*", "-F", "a=b", address], stdout=subprocess.DEVNULL)
conversation = listener.accept()[0]
conversation.settimeout(60)
request = b""
while b"\r\n\r\n" not in request and (data := conversation.recv(65536)):
    request += data
conversation.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
conversation.close()
sending.wait()
print("chance.boundary\t" + re.findall(rb"boundary=(\S+)", request)[0].decode())
