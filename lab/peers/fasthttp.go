// Go's fasthttp as it is measured: no Server field, no limit on requests per connection, as many running threads as
// workers.
//
//	fasthttp PORT WORKERS CONNECTIONS JSON      serves /health, /json (this text), /echo and /sum on 127.0.0.1
//	fasthttp --version
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/valyala/fasthttp"
)

// Set by the linker: the library does not say its version itself.
var version = "unknown"

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		fmt.Fprintf(os.Stderr, "fasthttp: '%s' is no number\n", text)
		os.Exit(2)
	}
	return value
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Printf("fasthttp %s, %s\n", version, runtime.Version())
		return
	}
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: fasthttp PORT WORKERS CONNECTIONS JSON")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(number(os.Args[2]))
	health, json := []byte("OK"), []byte(os.Args[4])

	handler := func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/health":
			ctx.SetContentType("text/plain")
			ctx.SetBody(health)
		case "/json":
			ctx.SetContentType("application/json")
			ctx.SetBody(json)
		case "/echo":
			ctx.SetContentType("application/octet-stream")
			ctx.SetBody(ctx.PostBody())
		case "/sum":
			a, _ := ctx.QueryArgs().GetUint("a")
			b, _ := ctx.QueryArgs().GetUint("b")
			content, _ := strconv.Atoi(string(ctx.PostBody()))
			ctx.SetContentType("text/plain")
			ctx.SetBodyString(strconv.Itoa(a + b + content))
		default:
			ctx.Error("not found", fasthttp.StatusNotFound)
		}
	}
	server := &fasthttp.Server{
		Handler:               handler,
		Concurrency:           number(os.Args[3]),
		NoDefaultServerHeader: true,
	}
	if err := server.ListenAndServe("127.0.0.1:" + os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "fasthttp: %v\n", err)
		os.Exit(1)
	}
}
