// SPDX-License-Identifier: MIT
// hostile_device CASES [SEED]: passes malformed input to /dev/dtrace.
//
// Each case is one consumer. It makes valid requests, and then passes one kind of
// malformed input: DOF with changed bytes, random ioctls, lists with false sizes,
// addresses that cannot be probed, forbidden mappings, or an arena that is overwritten
// while probes fire. Prints how many programs with changed DOF were accepted. The test
// passes if the kernel does not crash.
#include "abi/ioctl.h"
#include "libdtrace/compile/compiler.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

std::mt19937_64 randomness;

std::uint64_t any(std::uint64_t below)
{
    return randomness() % below;
}

// Returns a random number, or a number near the limit of a type.
std::uint64_t odd_number()
{
    static constexpr std::array<std::uint64_t, 14> numbers{0,
                                                           1,
                                                           7,
                                                           8,
                                                           63,
                                                           64,
                                                           0x7fffffff,
                                                           0x80000000,
                                                           0xffffffff,
                                                           0x100000000,
                                                           0x7fffffffffffffff,
                                                           0x8000000000000000,
                                                           0xfffffffffffffff8,
                                                           0xffffffffffffffff};
    return any(4) == 0 ? randomness() : numbers[any(numbers.size())] + any(3) - 1;
}

std::vector<std::vector<std::byte>> good_programs()
{
    static constexpr const char* texts[] = {
        "BEGIN { trace(1); }",
        "BEGIN { @[execname, pid] = quantize(timestamp); @l = lquantize(cpu, 0, 10, "
        "1); }",
        "BEGIN { self->x = 1; x[pid, execname] = timestamp; self->s = execname; }",
        "BEGIN /pid > 0/ { printf(\"%s %d\", execname, pid); stack(); ustack(); }",
        "BEGIN { this->s = strjoin(execname, substr(probename, 1, 2)); trace(this->s); "
        "}",
        "BEGIN { this->n = speculation(); speculate(this->n); trace(1); }",
        "BEGIN { @a[stack()] = avg(pid); @b[ustack()] = stddev(tid); trace(*(int *)8); "
        "}",
        "BEGIN { trace(strtok(\"a b c\", \" \")); tracemem(curthread, 32); "
        "trace(rand()); }",
    };
    dt::Compiler compiler;
    dt::CompileOptions options;
    options.kernel = true;
    struct OneProbe : dt::Environment {
        std::optional<Match> match(const dt::ProbeSpec&) override
        {
            return dt::ProbeMatch{{1}, false, {}};
        }
    } one_probe;
    options.environment = &one_probe;
    std::vector<std::vector<std::byte>> programs;
    for (const char* text : texts) {
        auto compiled = compiler.compile(text, options);
        if (auto* why = std::get_if<dt::Diagnostic>(&compiled)) {
            std::fprintf(stderr, "%s: %s\n", text, why->text.c_str());
            std::exit(2);
        }
        programs.push_back(dt::write_dof(std::get<dt::Program>(compiled), 0));
    }
    return programs;
}

class Consumer {
public:
    Consumer() : fd_(::open(DTK_DEVICE, O_RDWR | O_CLOEXEC)) {}
    ~Consumer()
    {
        if (data_ != MAP_FAILED)
            ::munmap(data_, data_bytes_);
        ::close(fd_);
    }
    bool is_open() const { return fd_ >= 0; }
    int fd() const { return fd_; }

    bool make_arena()
    {
        dtk_arena request{};
        for (dt_u64& option : request.config.options)
            option = DT_OPT_UNSET;
        request.config.options[DTRACEOPT_bufsize] = 16384;
        request.config.options[DTRACEOPT_aggsize] = 16384;
        request.config.options[DTRACEOPT_dynvarsize] = 65536;
        request.config.max_probes = request.config.max_ecbs = 1024;
        request.config.max_clauses = request.config.max_vars = 256;
        request.config.heap_bytes = 1 << 20;
        request.config.globals_bytes = request.config.locals_bytes = 1 << 16;
        if (::ioctl(fd_, DTK_ARENA, &request) != 0)
            return false;
        data_bytes_ = request.total_bytes - request.program_bytes;
        data_ = ::mmap(nullptr, data_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                       static_cast<off_t>(request.program_bytes));
        const char names[] =
            "dtrace\0\0\0BEGIN\0dtrace\0\0\0END\0dtrace\0\0\0ERROR\0fbt\0v\0f\0e";
        dtk_list list{reinterpret_cast<dt_u64>(names), sizeof names, 4, 0};
        return data_ != MAP_FAILED && ::ioctl(fd_, DTK_PROBES, &list) == 0;
    }

    bool load(const std::vector<std::byte>& dof)
    {
        dtk_load request{};
        request.dof = reinterpret_cast<dt_u64>(dof.data());
        request.bytes = dof.size();
        if (::ioctl(fd_, DTK_LOAD, &request) != 0)
            return false;
        for (dt_u32 i = 0; i < request.n_clauses; i++) {
            dtk_ecb ecb{1 + static_cast<dt_u32>(any(4)), request.first_clause + i};
            dtk_list list{reinterpret_cast<dt_u64>(&ecb), sizeof ecb, 1, 0};
            ::ioctl(fd_, DTK_ECBS, &list);
        }
        return true;
    }

    // Lets all probes fire from now on.
    void activate()
    {
        auto* session = static_cast<dt_session*>(data_);
        session->activity = DT_ACTIVITY_ACTIVE;
    }
    void fire()
    {
        dt_u32 probe = any(2) == 0 ? DT_PROBE_BEGIN : DT_PROBE_END;
        ::ioctl(fd_, DTK_FIRE, &probe);
    }
    void attach(dt_u32 kind, dt_u64 where, dt_u64 more)
    {
        dtk_site site{1 + static_cast<dt_u32>(any(5)), kind, where, more, 0, 0};
        dtk_list list{reinterpret_cast<dt_u64>(&site), sizeof site, 1, 0};
        ::ioctl(fd_, DTK_ATTACH, &list);
    }

    std::uint64_t* words() { return static_cast<std::uint64_t*>(data_); }
    std::size_t n_words() const { return data_bytes_ / 8; }

private:
    int fd_;
    void* data_ = MAP_FAILED;
    std::size_t data_bytes_ = 0;
};

std::vector<std::uint64_t> kernel_functions()
{
    std::vector<std::uint64_t> addresses;
    std::ifstream file("/proc/kallsyms");
    for (std::string line; std::getline(file, line);)
        if (any(100) == 0)
            addresses.push_back(std::stoull(line, nullptr, 16) + any(3));
    return addresses;
}

void change(std::vector<std::byte>& dof)
{
    for (auto n = 1 + any(6); n > 0; n--) {
        std::size_t at = any(dof.size());
        switch (any(4)) {
        case 0:
            dof[at] = static_cast<std::byte>(randomness());
            break;
        case 1:
            dof[at] ^= static_cast<std::byte>(1 << any(8));
            break;
        case 2: {
            auto number = static_cast<std::uint32_t>(odd_number());
            at = std::min(at & ~std::size_t{3}, dof.size() - 4);
            std::memcpy(&dof[at], &number, 4);
            break;
        }
        default: {
            std::uint64_t number = odd_number();
            at = std::min(at & ~std::size_t{7}, dof.size() - 8);
            std::memcpy(&dof[at], &number, 8);
            break;
        }
        }
    }
    if (any(10) == 0)
        dof.resize(1 + any(dof.size()));
}

void any_ioctl(Consumer& consumer)
{
    std::array<std::uint64_t, 1024>
        memory{}; // enough for the largest structure that the kernel returns
    static_assert(sizeof(dtk_arena) <= sizeof memory &&
                  sizeof(dtk_load) <= sizeof memory);
    for (std::uint64_t& word : memory)
        word =
            any(3) == 0 ? reinterpret_cast<std::uint64_t>(memory.data()) : odd_number();
    static constexpr std::array<unsigned long, 11> requests{
        DTK_INFO, DTK_ARENA,  DTK_LOAD,  DTK_PROBES, DTK_ECBS,     DTK_ATTACH,
        DTK_FIRE, DTK_DETACH, DTK_TABLE, DTK_MAPS,   DTK_STRANGERS};
    unsigned long request = any(4) == 0 ? odd_number() : requests[any(requests.size())];
    // Rarely request an arena, because creating a large arena takes a long time.
    if (request == DTK_ARENA && any(50) != 0)
        return;
    void* where = any(3) == 0 ? reinterpret_cast<void*>(odd_number()) : memory.data();
    ::ioctl(consumer.fd(), request, where);
}

void a_lying_list(Consumer& consumer)
{
    std::vector<std::uint64_t> elements(64);
    for (std::uint64_t& word : elements)
        word = odd_number();
    static constexpr std::array<unsigned long, 5> requests{
        DTK_PROBES, DTK_ECBS, DTK_ATTACH, DTK_TABLE, DTK_STRANGERS};
    dtk_list list{reinterpret_cast<dt_u64>(elements.data()), any(513),
                  static_cast<dt_u32>(any(70)), 0};
    if (any(4) == 0)
        list.bytes = odd_number();
    if (any(8) == 0)
        list.n = static_cast<dt_u32>(odd_number());
    ::ioctl(consumer.fd(), requests[any(requests.size())], &list);
}

void any_place(Consumer& consumer, const std::vector<std::uint64_t>& functions)
{
    static const char* const names[] = {"sched_switch", "sys_enter", "",
                                        "nosuch",       "kmalloc",   "sched_wakeup"};
    for (auto n = 1 + any(4); n > 0; n--) {
        auto kind = static_cast<dt_u32>(any(20));
        std::uint64_t where = odd_number();
        if (kind == DTK_FBT_ENTRY || kind == DTK_FBT_RETURN)
            where = any(4) == 0 ? odd_number() : functions[any(functions.size())];
        else if (kind == DTK_TRACEPOINT && any(4) != 0)
            where = reinterpret_cast<std::uint64_t>(names[any(std::size(names))]);
        else if (any(2) == 0)
            where = any(1'000'000);
        consumer.attach(kind, where,
                        any(2) == 0 ? odd_number() : functions[any(functions.size())]);
    }
}

void any_mapping(Consumer& consumer)
{
    std::size_t bytes = 4096 * (1 + any(1 << any(20)));
    int protection = static_cast<int>(any(8));
    void* at =
        ::mmap(nullptr, bytes, protection, any(4) == 0 ? MAP_PRIVATE : MAP_SHARED,
               consumer.fd(), static_cast<off_t>(4096 * any(1 << any(24))));
    if (at == MAP_FAILED)
        return;
    ::mprotect(at, bytes, PROT_READ | PROT_WRITE);
    ::munmap(at, bytes);
}

// Overwrites words in the arena while probes fire, as a hostile target could.
void scribble(Consumer& consumer)
{
    consumer.activate();
    for (int i = 0; i < 200; i++) {
        std::size_t at = any(4) == 0 ? any(consumer.n_words()) : any(4096);
        if (at < 2) // do not overwrite the activity, because tracing would end
            at = 2;
        if (at < consumer.n_words())
            consumer.words()[at] = odd_number();
        consumer.fire();
        if (i % 16 == 0)
            ::getppid();
    }
}

} // namespace

int main(int argc, char** argv)
{
    const long n_cases = argc > 1 ? std::atol(argv[1]) : 1000;
    randomness.seed(argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 1);
    if (Consumer first; !first.is_open()) {
        std::perror(DTK_DEVICE);
        return 1;
    }
    const auto programs = good_programs();
    const auto functions = kernel_functions();
    long n_taken = 0, n_changed = 0;
    for (long i = 0; i < n_cases; i++) {
        Consumer consumer;
        if (any(20) != 0 && !consumer.make_arena())
            continue;
        auto dof = programs[any(programs.size())];
        switch (any(8)) {
        case 0:
            any_ioctl(consumer);
            break;
        case 1:
            a_lying_list(consumer);
            break;
        case 2:
            any_mapping(consumer);
            break;
        case 3:
            if (consumer.n_words() != 0 && consumer.load(dof) && any(8) == 0) {
                consumer.activate();
                any_place(consumer, functions);
            }
            break;
        case 4:
            if (consumer.n_words() != 0 && consumer.load(dof)) {
                if (any(4) == 0)
                    consumer.attach(DTK_SYSCALL_ENTRY, 110, 0); // getppid
                scribble(consumer);
            }
            break;
        default:
            change(dof);
            n_changed++;
            if (consumer.load(dof)) {
                n_taken++;
                consumer.activate();
                for (int n = 0; n < 4; n++)
                    consumer.fire();
            }
        }
        // Also test a process that exits between requests.
        if (any(64) == 0 && ::fork() == 0) {
            any_ioctl(consumer);
            ::_exit(0);
        }
        while (::waitpid(-1, nullptr, WNOHANG) > 0)
            continue;
    }
    std::printf("%ld cases, %ld changed programs of which %ld were taken\n", n_cases,
                n_changed, n_taken);
    return 0;
}
