// fetch prints what a URL answers, as a Go program without cgo does it: own TLS, own resolver.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		log.Fatal(err)
	}
}
