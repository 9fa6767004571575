// SPDX-License-Identifier: MIT
// Tests descriptions of pid probes, with this process as the target.
#include "libdtrace/providers/pid_provider.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" __attribute__((noinline, used)) int provider_test_target(int n)
{
    return n == 0 ? 7 : n * 3 + getpid();
}

namespace {

using namespace dt;

class PidProviderTest : public testing::Test {
protected:
    // Parses "PROVIDER:MODULE:FUNCTION:NAME". "$" is the pid of this process.
    static ProbeSpec spec_of(std::string text)
    {
        if (std::size_t self = text.find('$'); self != std::string::npos)
            text.replace(self, 1, std::to_string(getpid()));
        ProbeSpec spec;
        std::string* parts[] = {&spec.provider, &spec.module, &spec.function,
                                &spec.name};
        std::size_t part = 0;
        for (char c : text) {
            if (c == ':')
                part++;
            else
                *parts[part] += c;
        }
        return spec;
    }

    Provider::Outcome provide(const std::string& text, bool zdefs = false)
    {
        provider.zdefs = zdefs;
        return provider.provide(spec_of(text));
    }

    std::string refusal(const std::string& text)
    {
        auto outcome = provide(text);
        return outcome.refused ? std::string(tag_name(outcome.refused->tag)) + ": " +
                                     outcome.refused->text
                               : "";
    }

    std::vector<std::uint32_t> ids(const std::string& text)
    {
        auto outcome = provide(text);
        EXPECT_FALSE(outcome.refused) << outcome.refused->text;
        EXPECT_TRUE(outcome.mine);
        return outcome.provided.ids;
    }

    void expect_refusal(const std::string& text, const char* tag,
                        std::initializer_list<const char*> parts)
    {
        std::string got = refusal(text);
        EXPECT_EQ(got.find(tag), 0U) << text << " -> " << got;
        for (const char* part : parts)
            EXPECT_NE(got.find(part), std::string::npos) << text << " -> " << got;
    }

    ImageCache images;
    Registry registry;
    std::unique_ptr<ProcessSymbols> symbols;
    ProcessProbes probes;
    PidProvider provider{registry, probes,
                         [this](pid_t pid) -> Result<ProcessSymbols*> {
                             if (pid != getpid())
                                 return Error{Code::not_found, "no such process", 3};
                             if (!symbols) {
                                 auto opened = ProcessSymbols::open(pid, images);
                                 if (!opened)
                                     return opened.error();
                                 symbols = std::move(*opened);
                             }
                             return symbols.get();
                         }};
};

TEST_F(PidProviderTest, AProviderThatOnlyLooksLikePidIsRefusedOrNotOurs)
{
    expect_refusal("pid0:::entry", "D_PROC_BADPID", {"process 0", "-p", "-c"});
    expect_refusal("pidX:::entry", "D_PROC_BADPID", {"'pidX' does not name a process"});
    expect_refusal("pid123abc:::entry", "D_PROC_BADPID", {"'pid123abc'"});
    expect_refusal("pid99999999999999:::entry", "D_PROC_BADPID", {"pid99999999999999"});
    expect_refusal("pid-1:::entry", "D_PROC_BADPID", {"'pid-1'"});
    expect_refusal("pid999999:::entry", "D_PROC_GRAB", {"999999", "no such process"});
    EXPECT_FALSE(provide("profile:::entry").mine);
    EXPECT_FALSE(provide("pid*:::entry").mine);
    EXPECT_FALSE(provide(":::entry").mine);
}

TEST_F(PidProviderTest, TheProgramGoesByItsNameAndByAOut)
{
    auto by_a_out = ids("pid$:a.out:provider_test_target:entry");
    ASSERT_EQ(by_a_out.size(), 1U);
    EXPECT_EQ(registry.at(by_a_out[0]).module, "providers_test");
    EXPECT_EQ(ids("pid$:providers_test:provider_test_target:entry"), by_a_out);
    EXPECT_EQ(ids("pid$::provider_test_target:entry"), by_a_out);
    EXPECT_EQ(ids("pid$:prov*:provider_test_t?rget:ent*"), by_a_out);
    EXPECT_EQ(ids("pid$:[a-z]*_test:provider_*_target:[e]ntry"), by_a_out);
}

TEST_F(PidProviderTest, OneOffsetIsOneProbeHoweverItIsWritten)
{
    auto first = ids("pid$:a.out:provider_test_target:0");
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(registry.at(first[0]).name, "0");
    EXPECT_EQ(ids("pid$:a.out:provider_test_target:00"), first);
    EXPECT_EQ(ids("pid$:a.out:provider_test_target:0000000000000000"), first);
}

TEST_F(PidProviderTest, AGlobOverNamesMakesEntryReturnAndEveryOffset)
{
    bool entry = false, returns = false, zero = false;
    for (std::uint32_t id : ids("pid$:a.out:provider_test_target:")) {
        std::string_view name = registry.at(id).name;
        entry = entry || name == "entry";
        returns = returns || name == "return";
        zero = zero || name == "0";
    }
    EXPECT_TRUE(entry && returns && zero);
    EXPECT_EQ(ids("pid$:a.out:provider_test_target:*try").size(), 1U);
}

TEST_F(PidProviderTest, WrongOffsetsSayWhatIsThere)
{
    expect_refusal("pid$:a.out:provider_test_target:ffffff", "D_PROC_OFF",
                   {"0xffffff", "outside of function", "provider_test_target"});
    expect_refusal("pid$:a.out:provider_test_target:fffffffffffffffff", "D_PROC_NAME",
                   {});
    expect_refusal("pid$:a.out:provider_test_target:0x1", "D_PROC_NAME",
                   {"'0x1'", "entry, return, or an offset in hex"});
    expect_refusal("pid$:a.out:provider_test_target:entri", "D_PROC_NAME",
                   {"did you mean entry?"});
    // At least one of the offsets 1 to 7 is not the start of an instruction.
    bool refused = false;
    for (const char* offset : {"1", "2", "3", "4", "5", "6", "7"})
        refused =
            refused || refusal("pid$:a.out:provider_test_target:" + std::string(offset))
                               .find("D_PROC_ALIGN") == 0;
    EXPECT_TRUE(refused);
}

TEST_F(PidProviderTest, UnknownFunctionsAndLibrariesNameWhatComesNear)
{
    expect_refusal("pid$:a.out:provider_test_targt:entry", "D_PROC_FUNC",
                   {"provider_test_targt", "did you mean", "provider_test_target"});
    expect_refusal("pid$:libcc.so.6:malloc:entry", "D_PROC_LIB",
                   {"libcc.so.6", "did you mean libc.so.6"});
    auto later = provide("pid$:libnot_here.so:f:entry", true);
    EXPECT_FALSE(later.refused);
    EXPECT_TRUE(later.provided.retained);
    EXPECT_TRUE(later.provided.ids.empty());
}

TEST_F(PidProviderTest, AnAddressOfTheProgramNeedsNoSymbol)
{
    auto main = ids("pid$:a.out:provider_test_target:entry");
    std::uint64_t at = probes.probe(main[0])->sites[0].at.value;
    char hex[32];
    std::snprintf(hex, sizeof hex, "%llx", static_cast<unsigned long long>(at));
    auto absolute = ids("pid$:a.out:-:" + std::string(hex));
    ASSERT_EQ(absolute.size(), 1U);
    EXPECT_EQ(registry.at(absolute[0]).function, "-");
    EXPECT_EQ(probes.probe(absolute[0])->sites[0].at.value, at);
    expect_refusal("pid$:a.out:-:zz", "D_PROC_NAME", {"'zz'", "hexadecimal address"});
    expect_refusal("pid$:a.out:-:7fffffffffffffff", "D_PROC_OFF", {"not in the text"});
}

class Library {
public:
    explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW))
    {
        EXPECT_NE(handle_, nullptr) << dlerror();
    }
    ~Library() { close(); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    void close()
    {
        if (void* open = std::exchange(handle_, nullptr); open != nullptr) {
            EXPECT_EQ(dlclose(open), 0);
        }
    }
    std::uint64_t function() const // the address of the library's only function
    {
        return reinterpret_cast<std::uint64_t>(dlsym(handle_, "plugin_work"));
    }
    std::uint64_t base() const
    {
        link_map* map = nullptr;
        dlinfo(handle_, RTLD_DI_LINKMAP, &map);
        return map->l_addr;
    }

private:
    void* handle_;
};

class PidProviderLibraries : public PidProviderTest {
protected:
    const std::string plugin = VICTIMS "/plugin.so";

    // Reads the list of libraries again. Returns the probes that have been added for a
    // description since the last call.
    std::vector<std::uint32_t> new_ids(const std::string& text)
    {
        EXPECT_TRUE(symbols->refresh());
        auto outcome = provider.provide_new(spec_of(text));
        EXPECT_TRUE(outcome.mine);
        EXPECT_FALSE(outcome.refused);
        return outcome.provided.ids;
    }

    std::vector<std::uint64_t> places(std::uint32_t id)
    {
        std::vector<std::uint64_t> all;
        for (const ProbeSite& site : probes.probe(id)->sites)
            all.push_back(site.at.value);
        return all;
    }

    std::uint32_t plant(std::uint32_t id)
    {
        for (ProbeSite& site : probes.probe(id)->sites)
            site.planted = true;
        return id;
    }
};

TEST_F(PidProviderLibraries, LoadedModulesKeepTheirSitesWhenAnotherIsLoaded)
{
    std::uint32_t own = plant(ids("pid$::provider_test_target:entry")[0]);
    auto before = places(own);
    for (const char* text : {"pid$:::entry", "pid$::*:entry", "pid$:lib*::return"})
        (void)ids(text);
    Library library(plugin);
    auto loaded = new_ids("pid$:::entry");
    ASSERT_FALSE(loaded.empty());
    for (std::uint32_t id : loaded)
        EXPECT_EQ(registry.at(id).module, "plugin.so");
    EXPECT_EQ(new_ids("pid$:::entry"), std::vector<std::uint32_t>{}); // not new again
    EXPECT_EQ(new_ids("pid$::*:entry"), loaded); // new for this description
    EXPECT_EQ(places(own), before);
    EXPECT_TRUE(probes.probe(own)->sites[0].planted);
}

TEST_F(PidProviderLibraries, OneThatIsLoadedAgainHasTheSameProbesInTheNewPlace)
{
    ASSERT_TRUE(provide("pid$:plugin.so:plugin_work:entry", true).provided.retained);
    Library first(plugin);
    auto loaded = new_ids("pid$:plugin.so:plugin_work:entry");
    ASSERT_EQ(loaded.size(), 1U);
    std::uint32_t id = plant(loaded[0]);
    EXPECT_EQ(places(id), std::vector{first.function()});

    std::uint64_t base = first.base();
    first.close();
    EXPECT_EQ(new_ids("pid$:plugin.so:plugin_work:entry"),
              std::vector<std::uint32_t>{});
    EXPECT_EQ(places(id), std::vector<std::uint64_t>{});
    EXPECT_EQ(probes.of_process(getpid()), std::vector<std::uint32_t>{});

    Library second(plugin);
    EXPECT_EQ(new_ids("pid$:plugin.so:plugin_work:entry"), loaded);
    EXPECT_EQ(places(id), std::vector{second.function()});
    EXPECT_FALSE(probes.probe(id)->sites[0].planted);
    plant(id);

    // The library is unloaded, and loaded at another address, between two refreshes.
    base = second.base();
    second.close();
    constexpr std::size_t page = 4096;
    void* taken = mmap(reinterpret_cast<void*>(base), page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_NE(taken, MAP_FAILED);
    Library third(plugin);
    ASSERT_NE(third.base(), base);
    EXPECT_EQ(new_ids("pid$:plugin.so:plugin_work:entry"), loaded);
    EXPECT_EQ(places(id), std::vector{third.function()});
    EXPECT_FALSE(probes.probe(id)->sites[0].planted);
    munmap(taken, page);
}

TEST_F(PidProviderLibraries, TwoThatAreLoadedTogetherAreBothSearched)
{
    std::string copy = testing::TempDir() + "plugin_copy.so";
    std::filesystem::copy_file(plugin, copy,
                               std::filesystem::copy_options::overwrite_existing);
    ASSERT_TRUE(provide("pid$:plugin*:plugin_work:entry", true).provided.retained);
    ASSERT_TRUE(provide("pid$:plugin_copy:plugin_work:return", true).provided.retained);
    Library one(plugin), two(copy);
    std::filesystem::remove(copy);
    auto loaded = new_ids("pid$:plugin*:plugin_work:entry");
    ASSERT_EQ(loaded.size(), 2U);
    std::set<std::uint64_t> at{places(loaded[0])[0], places(loaded[1])[0]};
    EXPECT_EQ(at, (std::set{one.function(), two.function()}));
    auto abbreviated = new_ids("pid$:plugin_copy:plugin_work:return");
    ASSERT_EQ(abbreviated.size(), 1U);
    EXPECT_EQ(registry.at(abbreviated[0]).module, "plugin_copy.so");

    one.close();
    EXPECT_EQ(new_ids("pid$:plugin*:plugin_work:entry"), std::vector<std::uint32_t>{});
    std::vector left{loaded[0], loaded[1], abbreviated[0]};
    std::erase_if(left, [&](std::uint32_t id) { return places(id).empty(); });
    EXPECT_EQ(left.size(), 2U);
    EXPECT_EQ(probes.of_process(getpid()), left);
}

TEST_F(PidProviderLibraries, AProcessThatTookTheNumberOfAnotherHasItsOwnSites)
{
    std::uint32_t own = plant(ids("pid$::provider_test_target:entry")[0]);
    std::unique_ptr<ProcessSymbols> before =
        std::move(symbols); // the symbols of the process that has exited
    EXPECT_EQ(ids("pid$::provider_test_target:entry"), std::vector{own});
    EXPECT_EQ(probes.probe(own)->sites.size(), 1U);
    EXPECT_FALSE(probes.probe(own)->sites[0].planted);
}

} // namespace
