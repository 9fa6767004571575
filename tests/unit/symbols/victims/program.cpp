// SPDX-License-Identifier: MIT
// A C++ program with every kind of symbol name. Each byte on standard input is a
// command:
//   l  dlopen the plugin named by argv[1]      u  dlclose it      anything else: exit
// Before it reads a command, it prints the addresses of plugin_work() (or 0),
// shop::Cart::total() and original_name().
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <unistd.h>

namespace shop {

template <class T> __attribute__((noinline)) T twice(T value)
{
    asm volatile("");
    return value + value;
}

class Cart {
public:
    __attribute__((noinline)) long total(int n, const char* what) const;
    __attribute__((noinline)) bool operator()(int n);
};

long Cart::total(int n, const char* what) const
{
    asm volatile("");
    return twice(n) + (what != nullptr);
}

bool Cart::operator()(int n)
{
    asm volatile("");
    return n > 0;
}

} // namespace shop

namespace {

__attribute__((noinline, used)) int hidden_helper(int n)
{
    asm volatile("");
    return n - 1;
}

} // namespace

extern "C" {
__attribute__((noinline)) int __original_name(int n)
{
    asm volatile("");
    return n;
}
int original_name(int n) __attribute__((alias("__original_name"), nothrow));
int weak_name(int n) __attribute__((weak, alias("__original_name"), nothrow));
}

int main(int, char** argv)
{
    shop::Cart cart;
    void* plugin = nullptr;
    char command = 0;
    long sum = cart.total(1, "x") + cart(2) + hidden_helper(3) + original_name(4) +
               weak_name(5) + static_cast<long>(shop::twice(1.5));
    for (;;) {
        void* work = plugin ? dlsym(plugin, "plugin_work") : nullptr;
        auto total = &shop::Cart::total;
        std::printf("%zx %zx %zx %ld\n", reinterpret_cast<std::uintptr_t>(work),
                    *reinterpret_cast<std::uintptr_t*>(&total),
                    reinterpret_cast<std::uintptr_t>(&original_name), sum);
        std::fflush(stdout);
        if (read(0, &command, 1) != 1)
            return 0;
        if (command == 'l')
            plugin = dlopen(argv[1], RTLD_NOW);
        else if (command == 'u' && plugin)
            plugin = dlclose(plugin) ? plugin : nullptr;
        else
            return 0;
    }
}
