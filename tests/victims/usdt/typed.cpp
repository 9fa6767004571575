// SPDX-License-Identifier: MIT
// Fires probes that are C++ types, and prints what a tracer should print. Prints on
// stderr how often the arguments of DTRACE_FIRE() were evaluated.
#include <dtrace/usdt.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace app {

enum class Kind : unsigned char { read = 200 };

using none = dtrace::probe<"typed", "none">;
using query_start = dtrace::probe<"typed", "query-start", const char*, std::size_t>;
using floating = dtrace::probe<"typed", "floating", double, float>;
using twelve = dtrace::probe<"typed", "twelve-of-all", int, long, short, char, bool,
                             Kind, const int*, unsigned, unsigned char, char16_t,
                             long long, const char*>;
using lazy = dtrace::probe<"typed", "lazy", const char*, int>;
using templated = dtrace::probe<"typed", "templated", std::size_t>;

} // namespace app

static unsigned n_made;

static const char* made()
{
    n_made++;
    return "made";
}

static unsigned long long bits_of(double value)
{
    unsigned long long word;
    std::memcpy(&word, &value, sizeof word);
    return word;
}

struct Bits {
    int field : 5;
};

template <class T> static void often()
{
    app::templated::fire(sizeof(T));
    std::printf("templated %d\n", static_cast<int>(sizeof(T)));
}

[[gnu::noinline]] static void fire(int i, const std::string& text)
{
    Bits bits{-3};

    app::none::fire();
    std::printf("none\n");
    app::query_start::fire(text.c_str(), text.size());
    std::printf("query-start %s %d\n", text.c_str(), static_cast<int>(text.size()));
    app::floating::fire(1.5, static_cast<float>(i) + 0.5f);
    app::floating::fire(i, 2);
    for (double d : {1.5, static_cast<double>(i)})
        std::printf("floating %016llx %016llx\n", bits_of(d),
                    bits_of(d == 1.5 ? i + 0.5 : 2.0));
    app::twelve::fire(i, i + 1, 2, 'c', true, app::Kind::read, &i, 7u, 255, u'x',
                      bits.field, "last");
    std::printf("twelve %d %d 2 99 1 200 %d 7 255 120\n", i, i + 1, i);
    DTRACE_FIRE(app::lazy, made(), i);
    if (app::lazy::enabled())
        std::printf("lazy made %d\n", i);
    often<char>();
    often<double>();
}

int main(int argc, char** argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 3;
    for (int i = 2; i < 2 + n; i++)
        fire(i, "text " + std::to_string(i));
    std::fprintf(stderr, "made %u\n", n_made);
    return 0;
}
