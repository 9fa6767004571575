// SPDX-License-Identifier: MIT
// Every kind of type in C++, for debug_types_test.cpp.
#include <cstddef>

struct same {
    long outside;
};

namespace zoo {

struct same {
    char inside;
};

namespace {
struct hidden {
    int n;
};
} // namespace

enum class kind : unsigned char { bird = 1, fish = 200 };
enum deep : long long { BOTTOM = -5000000000, TOP = 5000000000 };

struct named {
    const char* name = "?";
    virtual ~named() = default;
    virtual int age() const { return 0; }
};

struct counted {
    long count = 3;
};

struct far : virtual counted {
    int near = 1;
};

class animal : public named, public counted {
public:
    [[gnu::used]] int walk(int steps, kind how, hidden* at);
    static int total;
    static constexpr int legs = 4;

private:
    int weight_ = 2;
    kind kind_ = kind::bird;
    using weight_t = int;
};

int animal::total = 5;

int animal::walk(int steps, kind how, hidden* at)
{
    asm volatile("" ::: "memory");
    return steps + static_cast<int>(how) + at->n + weight_;
}

} // namespace zoo

template <class T, int n> struct holder {
    T items[n];
    T* last = nullptr;
};

struct trivial {
    int a;
    trivial() = default;
    explicit trivial(int n) : a(n) {}
};

struct copied {
    int a = 0;
    copied() = default;
    copied(const copied& from) : a(from.a) {}
};

struct moved {
    int a = 0;
    moved() = default;
    moved(moved&& from) noexcept : a(from.a) {}
};

struct destroyed {
    int a = 0;
    ~destroyed() { asm volatile("" ::: "memory"); }
};

struct only_moved {
    int a = 0;
    only_moved() = default;
    only_moved(const only_moved&) = delete;
    only_moved(only_moved&&) = default;
};

struct with_copied {
    copied part[2];
};

struct derived_copied : copied {};

template <class T> struct copied_holder {
    T a{};
    copied_holder() = default;
    copied_holder(const copied_holder& from) : a(from.a) {}
};

struct nothing {};

same outer;
zoo::same inner;
zoo::animal ant;
zoo::far far_away;
zoo::deep deep = zoo::TOP;
holder<int, 3> three;
trivial one;
copied two;
moved three_moved;
destroyed four;
only_moved five;
with_copied six;
derived_copied seven;
copied_holder<char> eight;
nothing none;

[[gnu::used]] int takes(zoo::animal& by_reference, long&& moved_from,
                        std::nullptr_t null, int zoo::counted::*,
                        int (zoo::animal::*)(int, zoo::kind, zoo::hidden*), char16_t c,
                        char8_t d, wchar_t e);

int takes(zoo::animal& by_reference, long&& moved_from, std::nullptr_t null,
          int zoo::counted::*, int (zoo::animal::*)(int, zoo::kind, zoo::hidden*),
          char16_t c, char8_t d, wchar_t e)
{
    asm volatile("" ::: "memory");
    zoo::hidden hidden{3};
    return by_reference.walk(static_cast<int>(moved_from), zoo::kind::fish, &hidden) +
           (null == nullptr) + c + d + static_cast<int>(e);
}
