// SPDX-License-Identifier: MIT
// An array of words that are initially 0. The pages of a large array use no memory
// until they are written to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <sys/mman.h>

namespace dt {

class ZeroedWords {
public:
    explicit ZeroedWords(std::size_t n) : words_(make(n), Free{n}) {}
    std::uint64_t& operator[](std::size_t i) { return words_[i]; }
    std::uint64_t operator[](std::size_t i) const { return words_[i]; }

private:
    static constexpr std::size_t many = 8192; // arrays of fewer words use the heap
    struct Free {
        std::size_t n;
        void operator()(std::uint64_t* words) const
        {
            if (n < many)
                delete[] words;
            else
                munmap(words, n * sizeof *words);
        }
    };
    static std::uint64_t* make(std::size_t n)
    {
        if (n < many)
            return new std::uint64_t[n]();
        void* pages = mmap(nullptr, n * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED)
            throw std::bad_alloc();
        return static_cast<std::uint64_t*>(pages);
    }

    std::unique_ptr<std::uint64_t[], Free> words_;
};

} // namespace dt
