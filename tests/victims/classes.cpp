// SPDX-License-Identifier: MIT
// Passes objects of C++ types to functions. Each function is called twice.
#include <cstdio>

namespace zoo {

enum class Kind : unsigned char { bird = 1, fish = 200 };

struct Named {
    const char* name = "?";
    virtual ~Named() = default;
    virtual long age() const { return 0; }
};

struct Counted {
    long count = 3;
};

class Animal : public Named, public Counted {
public:
    Animal(const char* called, int legs, Kind kind) : legs_(legs), kind_(kind)
    {
        name = called;
    }
    long age() const override { return 7; }
    [[gnu::noinline]] int walk(int steps);
    [[gnu::noinline]] int meet(const Animal& other, Kind kind);
    static int total;

private:
    int legs_;
    Kind kind_;
};

int Animal::total = 0;

int Animal::walk(int steps)
{
    asm volatile("" ::: "memory");
    total += steps;
    return legs_ * steps;
}

int Animal::meet(const Animal& other, Kind kind)
{
    asm volatile("" ::: "memory");
    return legs_ + other.legs_ + static_cast<int>(kind);
}

} // namespace zoo

// Objects of this class are passed by address, because it is not trivial.
struct Guard {
    int id;
    explicit Guard(int n) : id(n) {}
    Guard(const Guard& other) : id(other.id + 100) {}
    ~Guard() { asm volatile("" ::: "memory"); }
};

[[gnu::noinline]] int guarded(Guard guard, int more)
{
    asm volatile("" ::: "memory");
    return guard.id + more;
}

[[gnu::noinline]] Guard make_guard(int id)
{
    asm volatile("" ::: "memory");
    return Guard(id);
}

struct Nothing {};

[[gnu::noinline]] int after_nothing(Nothing, int n, long&& moved)
{
    asm volatile("" ::: "memory");
    return n + static_cast<int>(moved);
}

int main()
{
    zoo::Animal ant("ant", 6, zoo::Kind::bird), eel("eel", 0, zoo::Kind::fish);
    long sum = 0;
    for (int i = 0; i < 2; i++) {
        sum += ant.walk(i + 1) + ant.meet(eel, zoo::Kind::fish);
        Guard guard(i);
        sum += guarded(guard, 5) + make_guard(i + 40).id;
        sum += after_nothing({}, i, 30 + i);
    }
    std::printf("%ld\n", sum);
}
