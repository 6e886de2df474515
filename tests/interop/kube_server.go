// A stand-in for the API of Kubernetes: one pod, whose commands run beside this server. exec and attach go
// over SPDY/3.1, by the library of Kubernetes' own servers, or over WebSocket (v5.channel.k8s.io).
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/moby/spdystream"
)

var pages = map[string]string{
	"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":   `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","namespaced":true,"kind":"Pod","verbs":["get"]}]}`,
	"/api/v1/namespaces/default/pods/p1": `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p1","namespace":"default"},` +
		`"spec":{"containers":[{"name":"c","image":"x","stdin":true}]},"status":{"phase":"Running"}}`,
	"/api/v1/namespaces/default/pods/p1/log": "line 1\nline 2\n",
}

// ran runs what a query asks for, cat for attach, and returns the status that ends its streams.
func ran(command []string, in io.Reader, out, errors io.Writer) string {
	if len(command) == 0 {
		command = []string{"cat"}
	}
	program := exec.Command(command[0], command[1:]...)
	if in != nil {
		pipe, _ := program.StdinPipe()
		go func() { io.Copy(pipe, in); pipe.Close() }()
	}
	program.Stdout, program.Stderr = out, errors
	if failed, ok := program.Run().(*exec.ExitError); ok {
		return fmt.Sprintf(`{"status":"Failure","reason":"NonZeroExitCode","message":"ended with %d",`+
			`"details":{"causes":[{"reason":"ExitCode","message":"%d"}]}}`, failed.ExitCode(), failed.ExitCode())
	}
	return `{"status":"Success"}`
}

// buffered reads first what had come before the connection was taken over.
type buffered struct {
	net.Conn
	io.Reader
}

func (b buffered) Read(data []byte) (int, error) { return b.Reader.Read(data) }

func overSPDY(w http.ResponseWriter, r *http.Request) {
	wanted := []string{"error"}
	for _, name := range []string{"stdin", "stdout", "stderr"} {
		if r.URL.Query().Get(name) == "true" {
			wanted = append(wanted, name)
		}
	}
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "SPDY/3.1")
	w.Header().Set("X-Stream-Protocol-Version", "v4.channel.k8s.io")
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, both, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	session, err := spdystream.NewConnection(buffered{conn, both}, true)
	if err != nil {
		panic(err)
	}
	made := make(chan *spdystream.Stream, len(wanted))
	go session.Serve(func(s *spdystream.Stream) { s.SendReply(http.Header{}, false); made <- s })
	streams := map[string]*spdystream.Stream{}
	for range wanted {
		s := <-made
		streams[s.Headers().Get("streamType")] = s
	}
	var in io.Reader
	if s := streams["stdin"]; s != nil {
		in = s
	}
	io.WriteString(streams["error"], ran(r.URL.Query()["command"], in, streams["stdout"], streams["stderr"]))
	for _, s := range streams {
		s.Close()
	}
	session.Wait(time.Minute)
}

type channel struct {
	conn   *websocket.Conn
	lock   *sync.Mutex
	number byte
}

func (c channel) Write(data []byte) (int, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return len(data), c.conn.WriteMessage(websocket.BinaryMessage, append([]byte{c.number}, data...))
}

func overWebSocket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	lock, input, fed := &sync.Mutex{}, io.Reader(nil), make(chan bool)
	from, to := io.Pipe()
	if r.URL.Query().Get("stdin") == "true" {
		input = from
	}
	go func() {
		defer close(fed)
		defer to.Close()
		for {
			_, message, err := conn.ReadMessage()
			if err != nil {
				return
			}
			if len(message) == 2 && message[0] == 255 { // the end of one channel
				to.Close()
			} else if len(message) > 1 && message[0] == 0 {
				to.Write(message[1:])
			}
		}
	}()
	status := ran(r.URL.Query()["command"], input, channel{conn, lock, 1}, channel{conn, lock, 2})
	from.Close()
	channel{conn, lock, 3}.Write([]byte(status))
	conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(time.Minute))
	<-fed
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, known := pages[r.URL.Path]
		switch {
		case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
			overWebSocket(w, r)
		case r.Header.Get("Upgrade") != "":
			overSPDY(w, r)
		case known && strings.HasSuffix(r.URL.Path, "/log"):
			io.WriteString(w, page)
		case known:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, page)
		default:
			http.NotFound(w, r)
		}
	}))
}
