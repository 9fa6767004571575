// SPDX-License-Identifier: MIT
// Runs random expressions in the engine, and compares the results with values that this
// test computes.
#include "tests/unit/compile/generate/session.hpp"
#include "tests/unit/n_cases.hpp"

#include <random>

namespace dt::gen {
namespace {

struct Expr {
    std::string text;
    std::int64_t value;
};

class RandomExpressions {
public:
    explicit RandomExpressions(unsigned seed) : random_(seed)
    {
        for (std::int64_t& arg : args)
            arg = interesting();
    }

    Expr make(int depth)
    {
        if (depth == 0)
            return leaf();
        switch (pick(9)) {
        case 0:
            return leaf();
        case 1:
            return unary(depth);
        case 2:
            return cast(depth);
        case 3:
            return conditional(depth);
        case 4:
            return logic(depth);
        case 5:
            return through_variable(depth);
        case 6:
            return unsigned_binary(depth);
        default:
            return binary(depth);
        }
    }

    std::int64_t args[4];

private:
    unsigned pick(unsigned n) { return random_() % n; }

    std::int64_t interesting()
    {
        static constexpr std::int64_t edges[] = {
            0,     1,         -1,        127,        128,       255,
            65535, INT32_MAX, INT32_MIN, 0xffffffff, INT64_MAX, INT64_MIN};
        return pick(2) ? edges[pick(std::size(edges))] : std::int64_t(random_());
    }

    Expr leaf()
    {
        if (pick(3) == 0) {
            std::int64_t value = interesting() >> pick(64);
            char text[64];
            std::snprintf(text, sizeof text, "(int64_t)0x%lxul",
                          static_cast<unsigned long>(value));
            return {std::string("(") + text + ")", value};
        }
        unsigned n = pick(4);
        return {"arg" + std::to_string(n), args[n]};
    }

    Expr unary(int depth)
    {
        Expr of = make(depth - 1);
        switch (pick(3)) {
        case 0:
            return {"(-" + of.text + ")", std::int64_t(-std::uint64_t(of.value))};
        case 1:
            return {"(~" + of.text + ")", ~of.value};
        default:
            return {"((int64_t)!" + of.text + ")", !of.value};
        }
    }

    template <class T> static std::int64_t as(std::int64_t value)
    {
        return std::int64_t(T(value));
    }

    Expr cast(int depth)
    {
        struct Row {
            const char* type;
            std::int64_t (*narrow)(std::int64_t);
        };
        static constexpr Row rows[] = {
            {"int8_t", as<std::int8_t>},   {"uint8_t", as<std::uint8_t>},
            {"int16_t", as<std::int16_t>}, {"uint16_t", as<std::uint16_t>},
            {"int32_t", as<std::int32_t>}, {"uint32_t", as<std::uint32_t>},
        };
        const Row& row = rows[pick(std::size(rows))];
        Expr of = make(depth - 1);
        return {std::string("((int64_t)(") + row.type + ")" + of.text + ")",
                row.narrow(of.value)};
    }

    Expr conditional(int depth)
    {
        Expr c = make(depth - 1), a = make(depth - 1), b = make(depth - 1);
        return {"(" + c.text + " ? " + a.text + " : " + b.text + ")",
                c.value ? a.value : b.value};
    }

    Expr logic(int depth)
    {
        Expr a = make(depth - 1), b = make(depth - 1);
        bool x = a.value != 0, y = b.value != 0;
        static const char* const ops[] = {" && ", " || ", " ^^ "};
        unsigned op = pick(3);
        bool value = op == 0 ? x && y : op == 1 ? x || y : x != y;
        return {"((int64_t)(" + a.text + ops[op] + b.text + "))", value};
    }

    // Returns an assignment of a random expression to one of the variables this->vN,
    // self->vN and vN.
    Expr through_variable(int depth)
    {
        Expr of = make(depth - 1);
        static const char* const scopes[] = {"this->v", "self->v", "v"};
        std::string name = scopes[pick(3)] + std::to_string(pick(1000));
        return {"(" + name + " = " + of.text + ")", of.value};
    }

    Expr unsigned_binary(int depth)
    {
        Expr a = make(depth - 1), b = make(depth - 1);
        std::uint64_t x = std::uint64_t(a.value), y = std::uint64_t(b.value);
        auto made = [&](const char* op, std::uint64_t value, const char* fix = "") {
            return Expr{"((int64_t)((uint64_t)" + a.text + op + "((uint64_t)" + b.text +
                            fix + ")))",
                        std::int64_t(value)};
        };
        switch (pick(5)) {
        case 0:
            return made(" / ", x / (y | 1), " | 1");
        case 1:
            return made(" % ", x % (y | 1), " | 1");
        case 2:
            return made(" >> ", x >> (y & 63), " & 63");
        case 3:
            return made(" < ", x < y);
        default:
            return made(" >= ", x >= y);
        }
    }

    Expr binary(int depth)
    {
        Expr a = make(depth - 1), b = make(depth - 1);
        std::int64_t x = a.value, y = b.value;
        std::uint64_t ux = std::uint64_t(x), uy = std::uint64_t(y);
        auto made = [&](const char* op, std::uint64_t value, const char* fix = "") {
            return Expr{"((int64_t)(" + a.text + op + "(" + b.text + fix + ")))",
                        std::int64_t(value)};
        };
        std::int64_t odd = y | 1;
        switch (pick(15)) {
        case 0:
            return made(" + ", ux + uy);
        case 1:
            return made(" - ", ux - uy);
        case 2:
            return made(" * ", ux * uy);
        case 3:
            return made(" / ", odd == -1 ? -ux : std::uint64_t(x / odd), " | 1");
        case 4:
            return made(" % ", odd == -1 ? 0 : std::uint64_t(x % odd), " | 1");
        case 5:
            return made(" << ", ux << (y & 63), " & 63");
        case 6:
            return made(" >> ", std::uint64_t(x >> (y & 63)), " & 63");
        case 7:
            return made(" & ", ux & uy);
        case 8:
            return made(" | ", ux | uy);
        case 9:
            return made(" ^ ", ux ^ uy);
        case 10:
            return made(" < ", x < y);
        case 11:
            return made(" <= ", x <= y);
        case 12:
            return made(" > ", x > y);
        case 13:
            return made(" == ", x == y);
        default:
            return made(" != ", x != y);
        }
    }

    std::mt19937_64 random_;
};

TEST(RunRandom, ExpressionsComputeWhatCComputes)
{
    const int n_programs = static_cast<int>(test::n_cases(150));
    constexpr int n_expressions = 20;
    int n_too_deep = 0;
    for (int i = 0; i < n_programs; i++) {
        RandomExpressions random(static_cast<unsigned>(i));
        std::vector<Expr> expected;
        std::string text = "test:::p\n{\n";
        for (int k = 0; k < n_expressions; k++) {
            expected.push_back(random.make(1 + k % 6));
            text += "\ttrace(" + expected.back().text + ");\n";
        }
        text += "}\n";
        Session session;
        auto loaded = session.load(text);
        if (!loaded &&
            std::string(loaded.message()).find("NOREG") != std::string::npos) {
            // If both operands of an operator have side effects, a deep expression may
            // need more registers than DIF has.
            n_too_deep++;
            continue;
        }
        ASSERT_TRUE(loaded) << "seed " << i;
        std::vector<dt_u64> args(std::begin(random.args), std::end(random.args));
        session.fire(args);
        auto made = session.records();
        ASSERT_EQ(made.size(), 1u) << "seed " << i;
        ASSERT_EQ(made[0].fault, 0u) << "seed " << i << "\n" << text;
        ASSERT_EQ(made[0].values.size(), expected.size());
        for (int k = 0; k < n_expressions; k++)
            ASSERT_EQ(made[0].values[k].number(), expected[k].value)
                << "seed " << i << ": " << expected[k].text;
    }
    EXPECT_LT(n_too_deep * 10, n_programs);
}

} // namespace
} // namespace dt::gen
