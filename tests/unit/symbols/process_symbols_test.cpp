// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/process_symbols.hpp"

#include "libdtrace/symbols/elf/static_probes.hpp"
#include "libdtrace/symbols/mapped_file.hpp"
#include "scratch.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <dtrace/usdt.h>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace dt;
namespace fs = std::filesystem;

static Result<std::shared_ptr<ElfImage>> image_from(Result<ElfSource> source)
{
    if (!source)
        return source.error();
    return ElfImage::open(std::move(*source));
}

static std::unique_ptr<ProcessSymbols> symbols_of(pid_t pid, ImageCache& cache)
{
    auto symbols = ProcessSymbols::open(pid, cache);
    EXPECT_TRUE(symbols) << symbols.error().text;
    return symbols ? std::move(*symbols) : nullptr;
}

static std::string victim_name()
{
    return fs::path(VICTIM).filename().string();
}

TEST(ProcessSymbols, KnowsTheMainProgramAndItsLibraries)
{
    ImageCache cache;
    Victim victim(VICTIM);
    auto symbols = symbols_of(victim.pid(), cache);
    ASSERT_TRUE(symbols->main_module());
    EXPECT_EQ(symbols->main_module()->name, victim_name());
    for (const char* name : {"a.out", VICTIM, "symbols_v*", "a.*"}) {
        auto found = symbols->match_modules(name);
        ASSERT_EQ(found.size(), 1U) << name;
        EXPECT_TRUE(found[0]->is_main);
    }
    for (const char* name : {"libc.so.6", "libc.so", "libc", "libc.s[o]*",
                             "/lib/x86_64-linux-gnu/libc.so.6"}) {
        auto found = symbols->match_modules(name);
        ASSERT_EQ(found.size(), 1U) << name;
        EXPECT_EQ(found[0]->name, "libc.so.6");
    }
    EXPECT_TRUE(symbols->match_modules("lib").empty());
    EXPECT_TRUE(symbols->match_modules("libc.so.").empty());
    EXPECT_EQ(symbols->match_modules("").size(), symbols->modules().size());
    EXPECT_GE(symbols->modules().size(), 4U);
}

TEST(ProcessSymbols, FindsTheAddressesThatTheProgramSees)
{
    ImageCache cache;
    Victim victim(VICTIM);
    auto symbols = symbols_of(victim.pid(), cache);
    auto total = symbols->lookup("a.out", "shop::Cart::total");
    ASSERT_TRUE(total) << total.error().text;
    EXPECT_EQ(total->addr.value, victim.addresses().cart_total);
    for (const char* alias : {"original_name", "__original_name", "weak_name"}) {
        auto found = symbols->lookup("a.out", alias);
        ASSERT_TRUE(found) << alias;
        EXPECT_EQ(found->addr.value, victim.addresses().original_name);
    }
}

TEST(ProcessSymbols, FormatsFramesAsDTraceDoes)
{
    ImageCache cache;
    Victim victim(VICTIM);
    auto symbols = symbols_of(victim.pid(), cache);
    TargetAddr total{victim.addresses().cart_total};
    std::string frame = victim_name() + "`shop::Cart::total(int, char const*) const";
    EXPECT_EQ(symbols->format_address(total), frame);
    EXPECT_EQ(symbols->format_address(total + 1), frame + "+0x1");
    EXPECT_EQ(symbols->format_function(total + 1), frame);
    EXPECT_EQ(symbols->format_module(total), victim_name());
    EXPECT_EQ(symbols->format_address({victim.addresses().original_name}),
              victim_name() + "`original_name");
    EXPECT_EQ(symbols->format_address({0x1000}), "0x1000");
    TargetAddr header = symbols->main_module()->begin;
    char expected[256];
    std::snprintf(expected, sizeof(expected), "%s`0x%zx", victim_name().c_str(),
                  header.value);
    EXPECT_EQ(symbols->format_address(header), expected);
}

TEST(ProcessSymbols, SeesLibrariesComeAndGoAndRemembersThem)
{
    ImageCache cache;
    Victim victim(VICTIM);
    auto symbols = symbols_of(victim.pid(), cache);
    std::string plugin = fs::path(PLUGIN).filename().string();
    EXPECT_TRUE(symbols->match_modules(plugin).empty());
    const Module* libc = symbols->match_modules("libc")[0];

    victim.command('l');
    ASSERT_TRUE(symbols->refresh());
    TargetAddr work{victim.addresses().plugin_work};
    ASSERT_NE(work.value, 0U);
    EXPECT_EQ(symbols->format_address(work), plugin + "`plugin_work");
    auto found = symbols->lookup(plugin, "plugin_work");
    ASSERT_TRUE(found);
    EXPECT_EQ(symbols->match_modules("libc")[0], libc);

    victim.command('u');
    ASSERT_TRUE(symbols->refresh());
    EXPECT_TRUE(symbols->match_modules(plugin).empty());
    EXPECT_EQ(symbols->format_address(work), plugin + "`plugin_work");
    EXPECT_FALSE(found->module->live);

    victim.command('l');
    ASSERT_TRUE(symbols->refresh());
    if (victim.addresses().plugin_work == work.value) {
        EXPECT_TRUE(found->module->live);
        EXPECT_EQ(symbols->match_modules(plugin), std::vector{found->module});
    }
}

TEST(ProcessSymbols, StillNamesAddressesAfterTheProcessHasExited)
{
    ImageCache cache;
    Victim victim(VICTIM);
    auto symbols = symbols_of(victim.pid(), cache);
    TargetAddr total{victim.addresses().cart_total};
    victim.end();
    auto refreshed = symbols->refresh();
    ASSERT_FALSE(refreshed);
    EXPECT_EQ(refreshed.error().code, Code::gone);
    EXPECT_EQ(symbols->format_function(total),
              victim_name() + "`shop::Cart::total(int, char const*) const");
    auto malloc = symbols->lookup("libc", "malloc");
    ASSERT_TRUE(malloc);
    EXPECT_EQ(symbols->format_address(malloc->addr), "libc.so.6`malloc");
}

TEST(ProcessSymbols, ReadsADeletedAndAReplacedProgram)
{
    Scratch scratch;
    std::string copy = scratch.path("some program");
    fs::copy_file(VICTIM, copy);
    ImageCache cache;
    Victim victim(copy);
    fs::remove(copy);
    fs::copy_file(STATIC_VICTIM, copy); // a different file with the same name
    auto symbols = symbols_of(victim.pid(), cache);
    ASSERT_TRUE(symbols->main_module());
    EXPECT_TRUE(symbols->main_module()->deleted);
    EXPECT_EQ(symbols->main_module()->name, "some program");
    EXPECT_EQ(symbols->format_address({victim.addresses().original_name}),
              "some program`original_name");
    EXPECT_FALSE(symbols->lookup("a.out", "small_function"));
}

TEST(ProcessSymbols, ReadsTheVdsoOutOfMemory)
{
    ImageCache cache;
    auto symbols = symbols_of(::getpid(), cache);
    auto found = symbols->match_modules("linux-vdso.so.1");
    if (found.empty())
        GTEST_SKIP() << "this kernel maps no vDSO";
    EXPECT_EQ(found[0]->path, "[vdso]");
    EXPECT_EQ(symbols->match_modules("[vdso]"), found);
    ASSERT_TRUE(found[0]->image) << found[0]->trouble;
    auto clock = symbols->lookup("linux-vdso.so.1", "__vdso_clock_gettime");
    ASSERT_TRUE(clock) << clock.error().text;
    EXPECT_EQ(symbols->lookup(clock->addr).module, found[0]);
}

TEST(ProcessSymbols, AgreesWithTheDynamicLinkerAboutThisProcess)
{
    ImageCache cache;
    auto symbols = symbols_of(::getpid(), cache);
    for (const char* name : {"fopen", "qsort", "printf", "free"}) {
        auto found = symbols->lookup("libc.so.6", name);
        ASSERT_TRUE(found) << found.error().text;
        void* real = ::dlsym(::dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), name);
        EXPECT_EQ(found->addr.value, reinterpret_cast<std::uint64_t>(real)) << name;
    }
    auto* here = reinterpret_cast<const std::byte*>(&::gmtime);
    Symbol symbol = symbols->lookup(TargetAddr{reinterpret_cast<std::uint64_t>(here)});
    ASSERT_TRUE(symbol.function);
    auto text =
        symbol.module->image->bytes(symbol.function->addr, symbol.function->n_bytes);
    ASSERT_TRUE(text);
    EXPECT_EQ(std::memcmp(text->data(), here, text->size()), 0);
}

TEST(ProcessSymbols, SaysWhatWasMeant)
{
    ImageCache cache;
    Victim victim(VICTIM);
    auto symbols = symbols_of(victim.pid(), cache);
    auto function = symbols->lookup("libc", "mallok");
    ASSERT_FALSE(function);
    EXPECT_EQ(function.error().code, Code::not_found);
    EXPECT_NE(function.error().text.find("malloc"), std::string::npos);
    auto module = symbols->lookup("libc.so.7", "malloc");
    ASSERT_FALSE(module);
    EXPECT_NE(module.error().text.find("libc.so.6"), std::string::npos);
}

TEST(ProcessSymbols, SharesImagesBetweenProcesses)
{
    ImageCache cache;
    Victim one(VICTIM), two(VICTIM);
    auto first = symbols_of(one.pid(), cache), second = symbols_of(two.pid(), cache);
    EXPECT_EQ(first->main_module()->image, second->main_module()->image);
    EXPECT_EQ(first->match("a.out", "main").size(), 1U);
    EXPECT_EQ(first->match("a.out", "shop::*").size(), 4U);
}

TEST(ProcessSymbols, TellsThatAProcessDoesNotExist)
{
    ImageCache cache;
    auto symbols = ProcessSymbols::open(0x7ffffffe, cache);
    ASSERT_FALSE(symbols);
    EXPECT_EQ(symbols.error().code, Code::gone);
}

TEST(ProcessSymbols, APieceOfAFileMappedTwiceIsNoSecondModule)
{
    ImageCache cache;
    auto before = symbols_of(::getpid(), cache);
    auto malloc = before->lookup("libc.so.6", "malloc");
    ASSERT_TRUE(malloc);
    const Mapping* text = before->maps().at(malloc->addr);
    ASSERT_TRUE(text && text->is_file());
    Fd fd(::open(text->path.c_str(), O_RDONLY | O_CLOEXEC));
    std::size_t n_bytes = text->end - text->begin;
    void* copy = ::mmap(nullptr, n_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(),
                        static_cast<off_t>(text->offset));
    ASSERT_NE(copy, MAP_FAILED);
    auto symbols = symbols_of(::getpid(), cache);
    TargetAddr there = TargetAddr{reinterpret_cast<std::uint64_t>(copy)} +
                       (malloc->addr - text->begin);
    EXPECT_EQ(symbols->format_address(there), "libc.so.6`malloc");
    EXPECT_EQ(symbols->match_modules("libc.so.6").size(), 1U);
    EXPECT_EQ(symbols->match("libc.so.6", "malloc").size(), 1U);
    ::munmap(copy, n_bytes);
}

TEST(ProcessSymbols, ReadsDynamicSymbolsFromMemoryIfNoFileIsAvailable)
{
    ImageCache cache;
    Victim victim(VICTIM);
    auto symbols = symbols_of(victim.pid(), cache);
    auto malloc = symbols->lookup("libc.so.6", "malloc");
    ASSERT_TRUE(malloc);
    const Mapping* text = symbols->maps().at(malloc->addr);
    ASSERT_TRUE(text);
    auto image = image_from(source_from_memory(victim.pid(), symbols->maps(), *text));
    ASSERT_TRUE(image) << image.error().text;
    EXPECT_EQ(bias_of_mapping(**image, *text), malloc->module->bias);
    const Function* found = (*image)->functions().find("malloc");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->addr, malloc->function->addr);
    auto stored = malloc->module->image->bytes(found->addr, found->n_bytes);
    auto mapped = (*image)->bytes(found->addr, found->n_bytes);
    ASSERT_TRUE(stored && mapped);
    EXPECT_TRUE(std::ranges::equal(*stored, *mapped));
}

// libdtrace-usdt creates probes in a memfd. If the memfd cannot be opened, the probes
// are read from memory.
TEST(ProcessSymbols, KnowsAFileOfMemoryByTheNameThatItsProgramGave)
{
    const dtrace_usdt_probe* probe = nullptr;
    std::unique_ptr<dtrace_usdt_provider, void (*)(dtrace_usdt_provider*)> provider(
        dtrace_usdt_create("symbols", "app.so.1"), dtrace_usdt_destroy);
    ASSERT_EQ(dtrace_usdt_add(provider.get(), "f", "hit", "int32_t", &probe), 0);
    ASSERT_EQ(dtrace_usdt_load(provider.get()), 0) << dtrace_usdt_error();

    ImageCache cache;
    auto symbols = symbols_of(::getpid(), cache);
    TargetAddr at{reinterpret_cast<std::uintptr_t>(probe->reach)};
    EXPECT_EQ(symbols->format_address({at.value + 4}), "app.so.1`f+0x4");
    auto found = symbols->match_modules("app");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0]->name, "app.so.1");
    EXPECT_EQ(found[0]->path, "/memfd:app.so.1");

    auto memory = image_from(
        source_from_memory(::getpid(), symbols->maps(), *symbols->maps().at(at)));
    ASSERT_TRUE(memory) << memory.error().text;
    for (ElfImage* image : {found[0]->image.get(), memory->get()}) {
        StaticProbes probes = image->static_probes();
        EXPECT_TRUE(probes.troubles.empty());
        ASSERT_EQ(probes.probes.size(), 1U);
        EXPECT_EQ(probes.probes[0].function, "f");
        EXPECT_EQ(probes.probes[0].name, "hit");
        ASSERT_EQ(probes.probes[0].sites.size(), 1U);
        EXPECT_EQ(found[0]->target_addr(probes.probes[0].sites[0].semaphore).value,
                  reinterpret_cast<std::uintptr_t>(&probe->n_tracers));
    }
    EXPECT_EQ(found[0]->target_addr((*memory)->static_probes().probes[0].sites[0].at),
              (TargetAddr{at.value + 4}));
}

TEST(ProcessSymbols, FindsAModuleWhoseTextIsInAnonymousMemory)
{
    void* plugin = ::dlopen(PLUGIN, RTLD_NOW);
    ASSERT_TRUE(plugin) << ::dlerror();
    auto work = reinterpret_cast<std::uint64_t>(::dlsym(plugin, "plugin_work"));
    auto maps = ProcessMaps::read(::getpid());
    ASSERT_TRUE(maps);
    const Mapping* text = maps->at({work});
    ASSERT_TRUE(text);
    std::size_t n_bytes = text->end - text->begin;
    auto* at = reinterpret_cast<std::byte*>(text->begin.value);
    std::vector<std::byte> saved(at, at + n_bytes);
    ASSERT_EQ(::mmap(at, n_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              static_cast<void*>(at));
    std::copy(saved.begin(), saved.end(), at);
    ASSERT_EQ(::mprotect(at, n_bytes, PROT_READ | PROT_EXEC), 0);

    ImageCache cache;
    auto symbols = symbols_of(::getpid(), cache);
    std::string name = fs::path(PLUGIN).filename().string();
    EXPECT_EQ(symbols->format_address({work}), name + "`plugin_work");
    auto found = symbols->lookup(name, "plugin_work");
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(found->addr.value, work);
    ASSERT_TRUE(symbols->refresh());
    EXPECT_EQ(symbols->lookup(name, "plugin_work")->module, found->module);
    ::dlclose(plugin);
}

// In the target's mount namespace, the victim is mounted over another file. Outside
// this namespace, the path leads to that other file.
TEST(ProcessSymbols, ReadsTheFileThatTheTargetsMountNamespaceShows)
{
    Scratch scratch;
    std::string path = scratch.path("program");
    fs::copy_file(STATIC_VICTIM, path);
    std::string script =
        "mount --bind " VICTIM " " + path + " && exec " + path + " " PLUGIN;
    if (std::system("unshare -rm true 2>/dev/null") != 0)
        GTEST_SKIP() << "lacks unshare of user and mount namespaces";
    Victim victim("/usr/bin/unshare", {"-rm", "sh", "-c", script});
    ImageCache cache;
    auto symbols = symbols_of(victim.pid(), cache);
    ASSERT_TRUE(symbols->main_module());
    EXPECT_EQ(symbols->format_address({victim.addresses().original_name}),
              "program`original_name");
    EXPECT_FALSE(symbols->lookup("a.out", "small_function"));
}

TEST(ProcessSymbols, AProgramIsAlsoCalledWhatItWasExecutedAs)
{
    Scratch scratch;
    std::string link = scratch.path("other-name");
    fs::create_symlink(VICTIM, link);
    ImageCache cache;
    Victim victim(link);
    auto symbols = symbols_of(victim.pid(), cache);
    ASSERT_EQ(symbols->match_modules("other-name").size(), 1U);
    EXPECT_EQ(symbols->match_modules("other-name"), symbols->match_modules("a.out"));
    EXPECT_EQ(symbols->match_modules("other-name")[0]->name, victim_name());
    EXPECT_EQ(symbols->match_modules(link), symbols->match_modules("a.out"));
}
