// SPDX-License-Identifier: MIT
// rounds SUM: prints "round N SUM" again and again, until its stdin ends. In each round,
// four threads allocate, fill maps, throw and catch exceptions, and so compute SUM. If a
// round computes another number, the program prints it and exits with status 1.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

__attribute__((noinline)) static std::uint64_t mix(std::uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccd;
    return value ^ value >> 29;
}

__attribute__((noinline)) static std::uint64_t refuse(std::uint64_t value)
{
    if (value % 7 == 3)
        throw std::runtime_error(std::to_string(value));
    return value + 1;
}

static std::uint64_t work(std::uint64_t seed)
{
    std::map<std::uint64_t, std::string> words;
    std::uint64_t sum = seed;
    for (std::uint64_t i = 0; i < 3000; i++) {
        sum = mix(sum + i);
        words[sum % 512] += static_cast<char>('a' + sum % 26);
        try {
            sum += refuse(sum);
        } catch (const std::runtime_error& error) {
            sum += std::stoull(error.what());
        }
        auto block = std::make_unique<std::vector<char>>(sum % 4096, 'x');
        sum += block->size();
        if (words.size() > 400)
            words.erase(words.begin());
    }
    for (const auto& [key, word] : words)
        sum = mix(sum + key + word.size());
    return sum;
}

int main(int argc, char** argv)
{
    std::atomic<bool> ends = false;
    std::thread reader([&] {
        char byte;
        while (read(0, &byte, 1) > 0) {
        }
        ends = true;
    });
    for (int n = 0; !ends; n++) {
        std::uint64_t sums[4];
        std::vector<std::thread> threads;
        for (std::uint64_t i = 0; i < 4; i++)
            threads.emplace_back([&sums, i] { sums[i] = work(i); });
        for (std::thread& thread : threads)
            thread.join();
        std::uint64_t sum = mix(sums[0] ^ sums[1]) ^ mix(sums[2] + sums[3]);
        std::printf("round %d %016llx\n", n, static_cast<unsigned long long>(sum));
        std::fflush(stdout);
        if (argc > 1 && sum != std::strtoull(argv[1], nullptr, 16))
            _exit(1);
    }
    reader.join();
    return 0;
}
