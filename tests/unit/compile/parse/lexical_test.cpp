// SPDX-License-Identifier: MIT
// Tests macro variables, control lines and invalid constants.
#include "tests/unit/compile/parse/support.hpp"

namespace dt {

namespace {

Parsed with_arguments(std::string_view text, std::vector<std::string> arguments)
{
    return Parsed(text, [&](Parsed& parsed) {
        parsed.options.macro_args.insert(parsed.options.macro_args.end(),
                                         arguments.begin(), arguments.end());
        parsed.environment.on_macro_value =
            [](std::string_view name) -> std::optional<std::uint64_t> {
            if (name == "target")
                return 4711;
            return std::nullopt;
        };
    });
}

std::string statement(std::string_view text, std::vector<std::string> arguments = {})
{
    Parsed parsed =
        with_arguments("BEGIN { " + std::string(text) + "; }", std::move(arguments));
    return parsed.error ? parsed.message() : shape(parsed.expr());
}

} // namespace

TEST(Macro, ReadsArgumentsByTheirSpelling)
{
    EXPECT_EQ(statement("trace($1)", {"42"}), "trace(42)");
    EXPECT_EQ(statement("trace($1)", {"0x10"}), "trace(16)");
    EXPECT_EQ(statement("trace($1)", {"-3"}), "trace((neg 3))");
    EXPECT_EQ(statement("trace($1)", {"execname"}), "trace(execname)");
    EXPECT_EQ(statement("trace($1)", {"a b"}), "trace(\"a b\")");
    EXPECT_EQ(statement("trace($1)", {"12monkeys"}), "trace(\"12monkeys\")");
    EXPECT_EQ(statement("trace($1)", {"\"42\""}), "trace(\"42\")");
    EXPECT_EQ(statement("trace($1)", {"libc.so.6"}), "trace(\"libc.so.6\")");
    EXPECT_EQ(statement("trace($$1)", {"42"}), "trace(\"42\")");
    EXPECT_EQ(statement("trace($target + $$target)"), "trace((4711 + \"4711\"))");
    EXPECT_EQ(statement("trace($$0)"), "trace(\"script.d\")");
}

TEST(Macro, IsReplacedInsideProbeDescriptions)
{
    Parsed parsed = with_arguments("pid$target:$1:$$2*:entry {}", {"a.out", "f"});
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(parsed.spec(), "pid4711:a.out:f*:entry");
    EXPECT_EQ(parsed.clause().probes[0].text, "pid$target:$1:$$2*:entry");
    EXPECT_EQ(with_arguments("$1 {}", {"syscall::read:entry"}).spec(),
              "syscall::read:entry");
    EXPECT_EQ(with_arguments("pid$nosuch:::entry {}", {}).message(),
              "invalid probe description \"pid$nosuch:::entry\": Undefined macro "
              "variable in probe description");
    EXPECT_EQ(Parsed("::core\\$fmt:entry {}").spec(), "::core\\$fmt:entry");
}

TEST(Macro, IsAnErrorWhenMissingOrUnused)
{
    Parsed missing("BEGIN { trace($1); }");
    EXPECT_EQ(missing.error->tag, Tag::MACRO_UNDEF);
    EXPECT_EQ(missing.message(), "macro argument $1 is not defined");
    EXPECT_EQ(tag_of("BEGIN { trace($nosuch); }"), Tag::MACRO_UNDEF);

    Parsed unused = with_arguments("BEGIN { trace($1); }", {"1", "two"});
    EXPECT_EQ(unused.error->tag, Tag::MACRO_UNUSED);
    EXPECT_EQ(unused.message(), "extraneous argument 'two' ($2 is not referenced)");

    EXPECT_EQ(with_arguments("#pragma D option argref\nBEGIN { }", {"1"}).message(),
              "no error");
    Parsed defaults("#pragma D option defaultargs\nBEGIN { trace($1 + $$2); }");
    ASSERT_FALSE(defaults.error) << defaults.message();
    EXPECT_EQ(shape(defaults.expr()), "trace((0 + \"\"))");

    EXPECT_EQ(
        with_arguments("BEGIN { trace($1); }", {"99999999999999999999"}).error->tag,
        Tag::MACRO_OFLOW);
}

TEST(Constant, IsRefusedByName)
{
    EXPECT_EQ(tag_of("BEGIN { x = 08; }"), Tag::INT_DIGIT);
    EXPECT_EQ(tag_of("BEGIN { x = 18446744073709551616; }"), Tag::INT_OFLOW);
    EXPECT_EQ(tag_of("BEGIN { x = 0x10000000000000000; }"), Tag::INT_OFLOW);
    EXPECT_EQ(tag_of("BEGIN { x = ''; }"), Tag::CHR_NULL);
    EXPECT_EQ(tag_of("BEGIN { x = 'a\n'; }"), Tag::CHR_NL);
    EXPECT_EQ(tag_of("BEGIN { x = '123456789'; }"), Tag::CHR_OFLOW);
    EXPECT_EQ(tag_of("BEGIN { x = \"a\nb\"; }"), Tag::STR_NL);
    EXPECT_EQ(tag_of("BEGIN { x = \"a"), Tag::SYNTAX);
    EXPECT_EQ(tag_of("BEGIN { x = 'a"), Tag::SYNTAX);
}

TEST(ControlLine, ReadsPragmas)
{
    Parsed parsed("#!/usr/sbin/dtrace -s\n"
                  "#pragma D option quiet\n"
                  "  #pragma D option bufsize=4m\n"
                  "#pragma D attributes Stable/Evolving/ISA x\n"
                  "#pragma D attributes Private/Private/Common provider io args\n"
                  "#pragma D binding \"1.6.1\" x\n"
                  "#pragma D depends_on library unistd.d\n"
                  "#pragma unknown thing\n"
                  "#ident \"@(#)x\"\n"
                  "#\n"
                  "BEGIN {\n#pragma D option aggsize=1k\n }");
    ASSERT_FALSE(parsed.error) << parsed.message();
    ASSERT_EQ(parsed.unit.options.size(), 3u);
    EXPECT_EQ(parsed.unit.options[1].name, "bufsize");
    EXPECT_EQ(parsed.unit.options[1].value, "4m");
    EXPECT_EQ(parsed.unit.options[1].at.line, 3);
    ASSERT_EQ(parsed.unit.attributes.size(), 2u);
    EXPECT_EQ(parsed.unit.attributes[1].part, "args");
    EXPECT_EQ(version_text(parsed.unit.bindings.at(0).version), "1.6.1");
    EXPECT_EQ(parsed.unit.dependencies.at(0).name, "unistd.d");
}

TEST(ControlLine, IsRefusedByName)
{
    EXPECT_EQ(tag_of("#include <x.h>\nBEGIN {}"), Tag::PRAGCTL_INVAL);
    EXPECT_EQ(tag_of("#pragma D nosuch\nBEGIN {}"), Tag::PRAGMA_INVAL);
    EXPECT_EQ(tag_of("#pragma D option\nBEGIN {}"), Tag::PRAGMA_MALFORM);
    EXPECT_EQ(tag_of("#pragma D option a b\nBEGIN {}"), Tag::PRAGMA_MALFORM);
    EXPECT_EQ(tag_of("#pragma D attributes a/b/c x\nBEGIN {}"), Tag::PRAGMA_MALFORM);
    EXPECT_EQ(tag_of("#pragma D depends_on nosuch x\nBEGIN {}"), Tag::PRAGMA_MALFORM);
    EXPECT_EQ(tag_of("#error stop here\nBEGIN {}"), Tag::PRAGERR);
    EXPECT_EQ(Parsed("#error stop here\n").message(), "#error: stop here");

    Parsed refused;
    refused.environment.on_set_option = [](std::string_view, std::string_view) {
        return std::optional<std::string>("Invalid option name");
    };
    refused.run("#pragma D option nosuch=1\nBEGIN {}");
    EXPECT_EQ(refused.error->tag, Tag::PRAGMA_OPTSET);
    EXPECT_EQ(refused.message(),
              "failed to set option 'nosuch' to '1': Invalid option name");

    Parsed missing;
    missing.environment.on_dependency = [](std::string_view, std::string_view) {
        return false;
    };
    missing.run("#pragma D depends_on provider nosuch\nBEGIN {}");
    EXPECT_EQ(missing.error->tag, Tag::PRAGMA_DEPEND);
    EXPECT_EQ(missing.message(), "program requires provider nosuch");
}

TEST(ControlLine, SetsTheNumberOfTheNextLine)
{
    EXPECT_EQ(Parsed("#line 100\nBEGIN { ; ]").error->at.line, 100);
    EXPECT_EQ(Parsed("# 7 \"foo.d\" 2\n\nBEGIN { ]").error->at.line, 8);
}

TEST(ControlLine, OptionsAreFoundPastCommentsAndStringsOnly)
{
    auto options = scan_options("/*\n#pragma D option a\n*/\n"
                                "BEGIN { trace(\"#pragma D option b\"); '\"'; }\n"
                                "// don't read /etc/*.d\n#pragma D option c=1\n");
    ASSERT_EQ(options.size(), 1u);
    EXPECT_EQ(options[0].name, "c");
    EXPECT_EQ(options[0].at.line, 6);
}

TEST(ControlLine, CompilerOptionsTakeEffectWhereverTheyStand)
{
    CompileOptions options;
    apply_options({{"strsize", "2k", {}}, {"zdefs", "", {}}, {"iregs", "x", {}}},
                  options);
    EXPECT_EQ(options.strsize, 2048u);
    EXPECT_TRUE(options.zdefs);
    EXPECT_EQ(options.n_registers, 8);
}

TEST(Quote, PutsACaretUnderTheColumn)
{
    EXPECT_EQ(quote_source("a\n\tb = ;\n", {2, 6}), "\tb = ;\n\t    ^\n");
    EXPECT_EQ(quote_source("a\r\nb\x1b[31m\n", {2, 1}), "b?[31m\n^\n");
    EXPECT_EQ(quote_source("# 7 \"x.d\"\nb\n", {7, 1, 2}), "b\n^\n");
    EXPECT_EQ(quote_source("a", {0, 0}), "");
    EXPECT_EQ(quote_source("a", {7, 1}), "");
}

TEST(Tags, HaveTheirPublishedNames)
{
    EXPECT_STREQ(tag_name(Tag::SYNTAX), "D_SYNTAX");
    EXPECT_STREQ(tag_name(Tag::PRINTM_SIZE), "D_PRINTM_SIZE");
}

} // namespace dt
