// gostack CALLS: calls functions at the end of their stack, and functions that grow
// their stack. Prints how many words below the stack were overwritten, and how often
// each function was called.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"
)

func leaf()
func leafAt(top uintptr)

const nWords = 512
const canary = 0x5a5a5a5a5a5a5a5a

var below [nWords]uint64

//go:noinline
func deep(n int) int {
	var a [24]int
	a[n%24] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + a[(n*7)%24]
}

//go:noinline
func large(n int) int {
	var a [2000]int
	a[n%2000] = n
	return a[(n*3)%2000] + deep(n%3)
}

//go:noinline
func small(a, b int) int {
	return a*3 + b
}

func main() {
	calls := 1000
	if len(os.Args) > 1 {
		calls, _ = strconv.Atoi(os.Args[1])
	}
	for i := range below {
		below[i] = canary
	}
	top := uintptr(unsafe.Pointer(&below[nWords-1]))
	written := 0
	runtime.LockOSThread()
	for i := 0; i < calls; i++ {
		leafAt(top)
		for j := 0; j < nWords-2; j++ { // except the return address
			if below[j] != canary {
				below[j] = canary
				written++
			}
		}
	}
	runtime.UnlockOSThread()
	const depth = 100
	done := make(chan int)
	sum := 0
	nDeep := 0
	for i := 0; i < calls; i++ { // each goroutine has a new stack, which grows
		go func(n int) { done <- deep(depth) + large(n) + small(n, n) }(i)
		sum += <-done
		nDeep += depth + 1 + i%3 + 1
	}
	fmt.Printf("written %d\nleaf %d\ndeep %d\nlarge %d\nsmall %d\nsum %d\n",
		written, calls, nDeep, calls, calls, sum)
}
