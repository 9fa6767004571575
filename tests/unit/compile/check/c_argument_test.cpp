// SPDX-License-Identifier: MIT
#include "tests/unit/compile/parse/support.hpp"

#include "libdtrace/compile/check/c_argument.hpp"

namespace dt {

namespace {

constexpr const char* argument_declarations = R"(
enum state { NEW, SOLD };
struct part { int weight; };
typedef struct { int number; } order_t;
typedef char (*rows_t)[4];
typedef char table_t[3][4];
typedef const char label_t[8];
typedef volatile enum state *state_t;
typedef volatile int *counter_t;
typedef _Bool flag_t;
typedef struct part *const part_t;
typedef void (*callback_t)(struct part *, _Bool *);
)";

std::string in_c(Parsed& parsed, const char* type)
{
    std::set<std::string> tags;
    auto argument = c_argument(parsed.types.lookup(type), "a", parsed.types, tags);
    const auto* made = std::get_if<CArgument>(&argument);
    return made != nullptr ? made->declaration : std::get<std::string>(argument);
}

TEST(CArgument, IsDeclaredWithWhatCAndCxxKnowWithoutTheProgramsHeaders)
{
    Parsed parsed(argument_declarations);
    ASSERT_FALSE(parsed.error);
    const std::pair<const char*, const char*> types[] = {
        {"int", "int a"},
        {"part_t", "const struct part *a"},
        {"struct part **", "struct part *const *a"},
        {"char *", "const char *a"},
        {"counter_t", "const volatile int *a"},
        {"label_t", "const char *a"},
        {"flag_t", "DTRACE_USDT_BOOL_ a"},
        {"flag_t *", "const DTRACE_USDT_BOOL_ *a"},
        {"_Bool **", "DTRACE_USDT_BOOL_ *const *a"},
        {"callback_t", "void (*a)(struct part *, DTRACE_USDT_BOOL_ *)"},
        // C cannot declare an enumeration before it is defined, or a structure that has
        // no tag. So the header uses int or void pointers for most of these types.
        {"enum state", "int a"},
        {"enum state *", "const void *a"},
        {"enum state **", "const void *a"},
        {"state_t", "const volatile void *a"},
        {"order_t *", "const void *a"},
        {"order_t **", "const void *a"},
        {"rows_t", "const void *a"},
        {"table_t", "const void *a"},
        {"rows_t *", "char (*const *a)[4]"},
    };
    for (auto [type, declaration] : types)
        EXPECT_EQ(in_c(parsed, type), declaration) << type;
}

} // namespace
} // namespace dt
