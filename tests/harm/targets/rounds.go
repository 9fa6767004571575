// SPDX-License-Identifier: MIT
// rounds SUM: prints "round N SUM" again and again, until its stdin ends. In each round,
// eight goroutines allocate, fill maps and compute hashes, and so compute SUM. If a round
// computes another number, the program prints it and exits with status 1.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

//go:noinline
func mix(value uint64) uint64 {
	value ^= value >> 33
	value *= 0xff51afd7ed558ccd
	return value ^ value>>29
}

//go:noinline
func work(seed uint64) uint64 {
	words := map[uint64][]byte{}
	sum := seed
	for i := uint64(0); i < 2000; i++ {
		sum = mix(sum + i)
		words[sum%256] = append(words[sum%256], byte(sum))
		block := make([]byte, sum%2048)
		sum += uint64(len(block))
	}
	for key := uint64(0); key < 256; key++ {
		hash := sha256.Sum256(words[key])
		sum = mix(sum + uint64(hash[0])<<8 + uint64(hash[31]))
	}
	return sum
}

func main() {
	var ends atomic.Bool
	go func() {
		io.Copy(io.Discard, os.Stdin)
		ends.Store(true)
	}()
	for n := 0; !ends.Load(); n++ {
		var sums [8]uint64
		var all sync.WaitGroup
		for i := range sums {
			all.Add(1)
			go func(i int) {
				defer all.Done()
				sums[i] = work(uint64(i))
			}(i)
		}
		all.Wait()
		sum := uint64(0)
		for _, each := range sums {
			sum = mix(sum + each)
		}
		text := fmt.Sprintf("%016x", sum)
		fmt.Printf("round %d %s\n", n, text)
		if len(os.Args) > 1 && text != os.Args[1] {
			os.Exit(1)
		}
	}
}
