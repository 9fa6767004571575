// SPDX-License-Identifier: MIT
// Tests libdtrace-usdt in the test's own process.
#include "usdt/operands.hpp"
#include "usdt/probe_notes.hpp"

#include <algorithm>
#include <cerrno>
#include <dtrace/usdt.h>
#include <fcntl.h>
#include <fstream>
#include <gelf.h>
#include <gtest/gtest.h>
#include <libelf.h>
#include <link.h>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace dt::usdt {
namespace {

using Probe = const dtrace_usdt_probe*;

struct Destroy {
    void operator()(dtrace_usdt_provider* provider) const
    {
        dtrace_usdt_destroy(provider);
    }
};
using Provider = std::unique_ptr<dtrace_usdt_provider, Destroy>;

Provider create(const std::string& name, const char* module = nullptr)
{
    return Provider(dtrace_usdt_create(name.c_str(), module));
}

int add(const Provider& provider, Probe& probe, const std::string& name,
        const char* types = nullptr, const char* function = nullptr)
{
    return dtrace_usdt_add(provider.get(), function, name.c_str(), types, &probe);
}

void set_tracers(Probe probe, std::uint16_t n)
{
    const_cast<dtrace_usdt_probe*>(probe)->n_tracers = n;
}

std::string file_at(const void* address)
{
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = std::stoul(line, nullptr, 16);
        std::uintptr_t end = std::stoul(line.substr(line.find('-') + 1), nullptr, 16);
        auto at = reinterpret_cast<std::uintptr_t>(address);
        if (begin <= at && at < end)
            return line.find('/') == std::string::npos ? ""
                                                       : line.substr(line.find('/'));
    }
    return "";
}

std::string path_of_descriptor(int fd)
{
    char path[256];
    ssize_t n =
        readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
    return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "";
}

int descriptor_of(const std::string& path)
{
    for (int fd = 0; fd < 256; fd++)
        if (path_of_descriptor(fd) == path)
            return fd;
    return -1;
}

int text_of_load_address(dl_phdr_info* info, std::size_t, void* address)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const auto& p = info->dlpi_phdr[i];
        auto at = reinterpret_cast<std::uintptr_t>(address) - info->dlpi_addr;
        if (p.p_type == PT_LOAD && at - p.p_vaddr < p.p_memsz)
            return 1;
    }
    return 0;
}

bool is_in_a_library(const void* address)
{
    return dl_iterate_phdr(text_of_load_address, const_cast<void*>(address)) == 1;
}

class File {
public:
    explicit File(int fd) : elf_(elf_begin(fd, ELF_C_READ, nullptr)) {}
    ~File() { elf_end(elf_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    bool section(const std::string& name, GElf_Shdr& header,
                 std::string* content = nullptr)
    {
        std::size_t names = 0;
        elf_getshdrstrndx(elf_, &names);
        for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf_, scn)) != nullptr;) {
            gelf_getshdr(scn, &header);
            if (name != elf_strptr(elf_, names, header.sh_name))
                continue;
            if (Elf_Data* data = elf_rawdata(scn, nullptr);
                content != nullptr && data != nullptr)
                content->assign(static_cast<const char*>(data->d_buf), data->d_size);
            return true;
        }
        return false;
    }

private:
    Elf* elf_;
};

TEST(UsdtLibrary, RefusesNamesThatCannotBeAndSaysWhy)
{
    struct Row {
        std::string name, part;
    };
    const Row providers[] = {
        {"", "empty"},
        {"9a", "must begin with a letter or _, not with 9"},
        {"a9", "ends in a digit"},
        {"pid", "one of DTrace's own"},
        {"syscall", "one of DTrace's own"},
        {"a-b", "contains -"},
        {"a\033[m", "a... contains \\x1b:"},
        {"\033[m" + std::string(56, 'a'), "provider \\x1b[ma"},
        {std::string(56, 'a'), "56 bytes long, which exceeds the maximum of 55"}};
    for (const Row& row : providers) {
        EXPECT_EQ(create(row.name), nullptr) << row.name;
        EXPECT_NE(std::string(dtrace_usdt_error()).find(row.part), std::string::npos)
            << dtrace_usdt_error();
    }
    EXPECT_NE(create(std::string(55, 'a')), nullptr);
    EXPECT_NE(create("pids"), nullptr);
    EXPECT_NE(create("pi"), nullptr);
    EXPECT_EQ(create("a", "b:c"), nullptr);
    EXPECT_EQ(create("a", "b/c"), nullptr);
    EXPECT_EQ(create("a", ""), nullptr);
    EXPECT_EQ(create("a", "."), nullptr);
    EXPECT_EQ(create("a", ".."), nullptr);
    EXPECT_NE(create("a", "..."), nullptr);
    EXPECT_EQ(dtrace_usdt_create(nullptr, nullptr), nullptr);

    Provider provider = create("names");
    Probe probe = nullptr;
    const Row names[] = {
        {"", "empty"},
        {"1a", "must begin with a letter or _, not with 1"},
        {"a b", "contains \\x20:"},
        {"a:b", "contains :"},
        {"\u00e4", "not with \\xc3"},
        {std::string(64, 'a'), "64 bytes long, which exceeds the maximum of 63"},
        {std::string(40, 'a') + std::string(23, '-'),
         "each - is stored as two bytes, __"}};
    for (const Row& row : names) {
        EXPECT_EQ(add(provider, probe, row.name), EINVAL) << row.name;
        EXPECT_NE(std::string(dtrace_usdt_error()).find(row.part), std::string::npos)
            << dtrace_usdt_error();
    }
    EXPECT_EQ(add(provider, probe, "a", nullptr, "f g"), EINVAL);
    EXPECT_EQ(add(provider, probe, "a", nullptr, std::string(128, 'f').c_str()),
              EINVAL);
    EXPECT_EQ(add(provider, probe, "a", nullptr, "<module>.f(int, char)+0"),
              EINVAL); // it contains a space
    EXPECT_EQ(add(provider, probe, "a", nullptr, "<module>.f*"), 0);
}

TEST(UsdtLibrary, RefusesTypesThatItDoesNotKnow)
{
    Provider provider = create("types");
    Probe probe = nullptr;
    EXPECT_EQ(add(provider, probe, "a", "int32_t int"), EINVAL);
    EXPECT_NE(std::string(dtrace_usdt_error()).find("'int' is not an argument type"),
              std::string::npos);
    EXPECT_NE(std::string(dtrace_usdt_error()).find("uint16_t"), std::string::npos);
    EXPECT_EQ(add(provider, probe, "a", "\033[m"), EINVAL);
    EXPECT_NE(
        std::string(dtrace_usdt_error()).find("'\\x1b[m' is not an argument type"),
        std::string::npos);
    std::string many;
    for (int i = 0; i < 12; i++)
        many += "double, ";
    EXPECT_EQ(add(provider, probe, "a", many.c_str()), 0);
    EXPECT_EQ(add(provider, probe, "a", (many + "string").c_str()), EINVAL);
}

TEST(UsdtLibrary, GivesProbesThatCanAlwaysBeFired)
{
    Probe refused = nullptr, probe = nullptr;
    Provider provider = create("always");
    EXPECT_EQ(add(provider, refused, "not a name"), EINVAL);
    DTRACE_USDT_FIRE(refused);
    ASSERT_EQ(add(provider, probe, "one", "int32_t"), 0);
    EXPECT_FALSE(dtrace_usdt_enabled(probe));
    DTRACE_USDT_FIRE(probe, 1);
    const std::uint64_t word = 1;
    dtrace_usdt_fire(probe, &word);

    ASSERT_EQ(dtrace_usdt_load(provider.get()), 0) << dtrace_usdt_error();
    EXPECT_FALSE(dtrace_usdt_enabled(probe));
    set_tracers(probe, 1);
    EXPECT_TRUE(dtrace_usdt_enabled(probe));
    DTRACE_USDT_FIRE(probe, 1);

    provider.reset();
    EXPECT_FALSE(dtrace_usdt_enabled(probe));
    DTRACE_USDT_FIRE(probe, 1);
    dtrace_usdt_destroy(nullptr);
}

TEST(UsdtLibrary, LooksAtArgumentsOnlyWhenEnabled)
{
    Probe probe = nullptr;
    Provider provider = create("lazy");
    ASSERT_EQ(add(provider, probe, "one", "int32_t"), 0);
    ASSERT_EQ(dtrace_usdt_load(provider.get()), 0);
    int n_made = 0;
    DTRACE_USDT_FIRE(probe, ++n_made);
    EXPECT_EQ(n_made, 0);
    set_tracers(probe, 2);
    DTRACE_USDT_FIRE(probe, ++n_made);
    EXPECT_EQ(n_made, 1);
}

std::size_t n_seen = 0;
std::uint64_t seen[DTRACE_USDT_MAX_ARGUMENTS];

// Returns a probe. Its `reach` stores in `seen` the arguments that a tracer would
// receive.
dtrace_usdt_probe observed(std::uint16_t n_arguments)
{
    dtrace_usdt_probe probe{};
    probe.n_tracers = 1;
    probe.n_arguments = n_arguments;
    probe.reach = [](const std::uint64_t* arguments) {
        std::copy_n(arguments, n_seen, seen);
    };
    return probe;
}

TEST(UsdtLibrary, MakesWordsOfValues)
{
    const char* text = "text";
    enum : short { few = -3 };
    const dtrace_usdt_probe probe = observed(8);
    n_seen = 8;
    DTRACE_USDT_FIRE(&probe, text, -1, 0.5f, 2.5, few, true, 'a', ~0U);
    const std::uint64_t want[] = {reinterpret_cast<std::uintptr_t>(text),
                                  ~std::uint64_t{0},
                                  dtrace_usdt_double(0.5),
                                  dtrace_usdt_double(2.5),
                                  static_cast<std::uint64_t>(-3),
                                  1,
                                  'a',
                                  0xffffffffU};
    EXPECT_TRUE(std::equal(want, want + 8, seen));
}

TEST(UsdtLibrary, FillsMissingValuesWithZeros)
{
    const dtrace_usdt_probe probe = observed(3);
    n_seen = 3;
    DTRACE_USDT_FIRE(&probe, 7);
    EXPECT_EQ(seen[0], 7u);
    EXPECT_EQ(seen[1] | seen[2], 0u);
    DTRACE_USDT_FIRE(&probe);
    EXPECT_EQ(seen[0] | seen[1] | seen[2], 0u);
    DTRACE_USDT_FIRE(&probe, 1, 2, 3, 4); // more arguments than the probe has
    EXPECT_EQ(seen[2], 3u);
}

TEST(UsdtLibrary, WritesNotesThatReadersFind)
{
    Probe a = nullptr, b = nullptr;
    Provider provider = create("readers", "app.module-1");
    ASSERT_EQ(add(provider, a, "query-start", "string,int8_t double", "parse"), 0);
    ASSERT_EQ(add(provider, b, "end"), 0);
    ASSERT_EQ(dtrace_usdt_load(provider.get()), 0) << dtrace_usdt_error();
    std::string path = file_at(reinterpret_cast<const void*>(a->reach));
    EXPECT_EQ(path, "/memfd:app.module-1 (deleted)");
    int fd = descriptor_of(path);
    ASSERT_GE(fd, 3);
    EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);

    elf_version(EV_CURRENT);
    File file(fd);
    GElf_Shdr section, text, semaphores;
    std::string bytes;
    ASSERT_TRUE(file.section(".note.stapsdt", section, &bytes));
    ASSERT_TRUE(file.section(".text", text));
    ASSERT_TRUE(file.section(".probes", semaphores));
    ProbeNotes read = parse_probe_notes(std::as_bytes(std::span(bytes)));
    EXPECT_TRUE(read.troubles.empty());
    ASSERT_EQ(read.notes.size(), 2u);
    const ProbeNote& first = read.notes[0];
    EXPECT_EQ(first.provider, "readers");
    EXPECT_EQ(first.name, "query__start");
    EXPECT_EQ(first.arguments, "8@(%rdi) -1@8(%rdi) 8f@16(%rdi)");
    EXPECT_EQ(read.notes[1].arguments, "");
    ASSERT_TRUE(file.section(".stapsdt.base", section));
    EXPECT_EQ(first.base, section.sh_addr);
    // The addresses in the note are link-time addresses. `base` is the load bias.
    auto stub = reinterpret_cast<std::uintptr_t>(a->reach);
    auto base = stub - text.sh_addr;
    EXPECT_EQ(base + first.at, stub + 4);
    EXPECT_EQ(base + first.semaphore, reinterpret_cast<std::uintptr_t>(&a->n_tracers));
    EXPECT_GE(first.semaphore, semaphores.sh_addr);
    EXPECT_LT(first.semaphore, semaphores.sh_addr + semaphores.sh_size);
    EXPECT_EQ(reinterpret_cast<const unsigned char*>(a->reach)[4], 0x90);
}

TEST(UsdtLibrary, LoadsWhatIsAddedLaterToo)
{
    Probe first = nullptr, second = nullptr;
    Provider provider = create("later");
    EXPECT_EQ(dtrace_usdt_load(provider.get()), 0); // there is no probe to load
    ASSERT_EQ(add(provider, first, "first"), 0);
    ASSERT_EQ(dtrace_usdt_load(provider.get()), 0);
    Probe was = first;
    ASSERT_EQ(add(provider, second, "second"), 0);
    ASSERT_EQ(dtrace_usdt_load(provider.get()), 0);
    EXPECT_EQ(first, was);
    EXPECT_NE(first, second);
    set_tracers(second, 1);
    EXPECT_FALSE(dtrace_usdt_enabled(first));
    EXPECT_TRUE(dtrace_usdt_enabled(second));
}

TEST(UsdtLibrary, UnloadsWhatItLoaded)
{
    Probe probe = nullptr;
    Provider provider = create("gone");
    ASSERT_EQ(add(provider, probe, "one"), 0);
    ASSERT_EQ(dtrace_usdt_load(provider.get()), 0);
    const void* stub = reinterpret_cast<const void*>(probe->reach);
    EXPECT_TRUE(is_in_a_library(stub));
    EXPECT_GE(descriptor_of("/memfd:gone (deleted)"), 0);
    provider.reset();
    EXPECT_FALSE(is_in_a_library(stub));
    EXPECT_EQ(descriptor_of("/memfd:gone (deleted)"), -1);
}

// The name of a loaded file contains a descriptor number. If the program closes the
// descriptor, the number may be reused.
TEST(UsdtLibrary, IsNotDeceivedByADescriptorThatTheProgramClosed)
{
    Probe first = nullptr, second = nullptr;
    Provider one = create("closed"), two = create("closed");
    ASSERT_EQ(add(one, first, "a"), 0);
    ASSERT_EQ(dtrace_usdt_load(one.get()), 0);
    int fd = descriptor_of("/memfd:closed (deleted)");
    close(fd);
    ASSERT_EQ(add(two, second, "a"), 0);
    ASSERT_EQ(dtrace_usdt_load(two.get()), 0) << dtrace_usdt_error();
    EXPECT_NE(first, second);
    set_tracers(first, 1);
    EXPECT_FALSE(dtrace_usdt_enabled(second));
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(other, fd);
    one.reset();
    EXPECT_EQ(path_of_descriptor(other), "/dev/null");
    DTRACE_USDT_FIRE(second);
    close(other);
}

template <class Holds> bool in_child(Holds holds)
{
    pid_t child = fork();
    if (child == 0)
        _exit(holds() ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    return status == 0;
}

TEST(UsdtLibrary, LeavesTheStandardStreamsFree)
{
    EXPECT_TRUE(in_child([] {
        Probe probe = nullptr;
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        Provider provider = create("streams");
        bool good =
            add(provider, probe, "one") == 0 && dtrace_usdt_load(provider.get()) == 0;
        for (int fd = 0; fd < 3; fd++)
            good = good && fcntl(fd, F_GETFD) < 0;
        return good;
    }));
}

struct Limit {
    decltype(RLIMIT_FSIZE) what;
    rlim_t most;
    std::vector<int> errors;
};

// A process that exceeds the file size limit gets SIGXFSZ. So the library must check
// the limit before it writes.
TEST(UsdtLibrary, OnlyFailsWhereLimitsAreTooLow)
{
    std::vector<Limit> limits = {{RLIMIT_FSIZE, 1024, {EFBIG}},
                                 {RLIMIT_NOFILE, 3, {EMFILE}}};
#ifndef __SANITIZE_ADDRESS__ // the sanitizer exits if it cannot allocate memory
    limits.push_back({RLIMIT_AS, 1, {EACCES, ENOMEM}});
#endif
    for (const Limit& limit : limits)
        EXPECT_TRUE(in_child([&limit] {
            Probe probe = nullptr;
            Provider provider = create("limits");
            rlimit before{};
            getrlimit(limit.what, &before);
            bool good = add(provider, probe, "one") == 0;
            const rlimit low = {limit.most, before.rlim_max};
            setrlimit(limit.what, &low);
            int error = dtrace_usdt_load(provider.get());
            DTRACE_USDT_FIRE(probe);
            setrlimit(limit.what, &before);
            good = good &&
                   std::count(limit.errors.begin(), limit.errors.end(), error) == 1;
            return good && dtrace_usdt_error()[0] != 0 &&
                   dtrace_usdt_load(provider.get()) == 0;
        })) << limit.what;
}

TEST(UsdtLibrary, MakesThousandsOfProbes)
{
    constexpr int n = 20000;
    std::vector<Probe> probes(n);
    Provider provider = create("crowd");
    for (int i = 0; i < n; i++)
        ASSERT_EQ(add(provider, probes[static_cast<std::size_t>(i)],
                      "p" + std::to_string(i), "int64_t string"),
                  0);
    ASSERT_EQ(dtrace_usdt_load(provider.get()), 0) << dtrace_usdt_error();
    for (Probe probe : probes) {
        EXPECT_EQ(probe->n_arguments, 2);
        const std::uint64_t words[] = {1, 2};
        dtrace_usdt_fire(probe, words);
    }
    std::sort(probes.begin(), probes.end());
    EXPECT_EQ(std::adjacent_find(probes.begin(), probes.end()), probes.end());
}

} // namespace
} // namespace dt::usdt
