// Prints "ready TID". For each line on stdin, the main thread calls work() a thousand
// times, and the program prints "done N".
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

var sink int

// The frame is so large that the function checks the remaining stack at its start.
//
//go:noinline
func work(n int) int {
	var a [64]int
	a[n%64] = n
	sink += a[(n*7)%64]
	return n
}

func init() {
	runtime.LockOSThread()
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	fmt.Println("ready", syscall.Gettid())
	for n := 1; in.Scan(); n++ {
		for i := 0; i < 1000; i++ {
			work(i)
		}
		fmt.Println("done", n)
	}
}
