// SPDX-License-Identifier: MIT
// Functions with every kind of C++ name. The loops in main() determine how often each
// function is called.
#include <cstdio>

namespace shapes {

static volatile long sink;

class Circle {
public:
    [[gnu::noinline]] long area(int scale) const;
    [[gnu::noinline]] long area(long scale, long more) const;
    [[gnu::noinline]] Circle operator+(const Circle& other) const;
    long radius = 2;
};

long Circle::area(int scale) const
{
    sink = sink + scale;
    return 3 * radius * scale;
}

long Circle::area(long scale, long more) const
{
    sink = sink + scale;
    return 3 * radius * scale + more;
}

Circle Circle::operator+(const Circle& other) const
{
    sink = sink + 1;
    Circle sum;
    sum.radius = radius + other.radius;
    return sum;
}

template <typename T> [[gnu::noinline]] T twice(T value)
{
    sink = sink + 1;
    return value + value;
}

} // namespace shapes

int main()
{
    shapes::Circle circle;
    long sum = 0;
    for (int i = 0; i < 7; ++i)
        sum += circle.area(i);
    for (long i = 0; i < 5; ++i)
        sum += circle.area(i, 1L);
    for (int i = 0; i < 3; ++i)
        circle = circle + shapes::Circle();
    for (int i = 0; i < 2; ++i)
        sum += shapes::twice(i);
    sum += shapes::twice(1L);
    std::printf("sum %ld radius %ld\n", sum, circle.radius);
    return 0;
}
