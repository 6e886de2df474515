// Prints what Go finds in each source, one `name TAB value` a line. Run by what is recorded.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"runtime"
	"sort"
	"strings"
	"time"
)

func tell(name string, value any) { fmt.Printf("%s\t%v\n", name, value) }

func read(path string, count int) string {
	file, err := os.Open(path)
	if err != nil {
		return "ERROR " + err.Error()
	}
	defer file.Close()
	room := make([]byte, count)
	got, _ := io.ReadFull(file, room)
	return hex.EncodeToString(room[:got])
}

func main() {
	tell("wall", time.Now().UnixNano())
	tell("wall.strftime", time.Now().Format(time.RFC1123Z))
	tell("monotonic", time.Since(time.Time{}.Add(0)).Nanoseconds())
	before := time.Now().Unix()
	time.Sleep(1100 * time.Millisecond)
	after := time.Now()
	tell("sleep", fmt.Sprint(after.Unix()-before >= 1, after.UnixNano()))
	room := make([]byte, 16)
	rand.Read(room)
	tell("getrandom", hex.EncodeToString(room))
	tell("chance", mathrand.Int64())
	order := map[int]int{}
	for number := 0; number < 64; number++ {
		order[number] = number
	}
	keys := []string{}
	for key := range order {
		keys = append(keys, fmt.Sprint(key))
	}
	tell("set order", strings.Join(keys, " "))
	tell("id", fmt.Sprintf("%p", &order))
	tell("pid", fmt.Sprint(os.Getpid(), os.Getppid()))
	home, _ := os.UserHomeDir()
	here, _ := os.Getwd()
	tell("user", fmt.Sprint(os.Getuid(), home, here))
	host, _ := os.Hostname()
	tell("host", host)
	os.Mkdir("many", 0o755)
	for number := 0; number < 60; number++ {
		os.WriteFile(fmt.Sprintf("many/%x-%d", mathrand.Int32(), number), nil, 0o644)
	}
	folder, _ := os.Open("many")
	names, _ := folder.Readdirnames(-1)
	for place, name := range names {
		_, names[place], _ = strings.Cut(name, "-")
	}
	tell("folder", strings.Join(names, " "))
	os.WriteFile("made", nil, 0o644)
	status, _ := os.Stat("made")
	tell("file times", status.ModTime().UnixNano())
	made, _ := os.CreateTemp(".", "name")
	tell("names", made.Name())
	tell("zone", time.Unix(0, 0).Format("-0700 MST"))
	environment := os.Environ()
	sort.Strings(environment)
	tell("environment", strings.Join(environment, " "))
	tell("cpus", runtime.NumCPU())
	tell("/dev/random", read("/dev/random", 16))
	tell("/dev/urandom", read("/dev/urandom", 16))
	tell("proc uuid", read("/proc/sys/kernel/random/uuid", 36))
	tell("boot_id", read("/proc/sys/kernel/random/boot_id", 36))
	tell("machine-id", read("/etc/machine-id", 32))
}
