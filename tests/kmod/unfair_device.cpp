// SPDX-License-Identifier: MIT
// unfair_device claims|tracepoints|functions|returns|arenas [N]: uses /dev/dtrace in
// ways that could harm other processes.
//
//   claims       Claims the anonymous consumer with a page that never becomes
//                available, so the claim waits. Then another process makes a claim.
//   tracepoints  Attaches up to 4000 callbacks to one tracepoint, and measures the time
//                of 1000 events.
//   functions    Kills a process that attaches to a million addresses at which no
//                function begins.
//   returns      Attaches to a function's return and closes the device, N times. The
//                module has slots for 1024 such consumers.
//   arenas       Maps the arena while another thread creates it, N times.
//
// The default for N is 100. The test checks the printed results.
#include "abi/ioctl.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <linux/userfaultfd.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

void require(bool holds, const char* what)
{
    if (holds)
        return;
    std::perror(what);
    std::exit(2);
}

int open_device()
{
    const int device = ::open(DTK_DEVICE, O_RDWR | O_CLOEXEC);
    require(device >= 0, DTK_DEVICE);
    return device;
}

std::int64_t ms_since(std::chrono::steady_clock::time_point begun)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now() - begun)
        .count();
}

// Returns memory whose pages never become available.
void* absent_pages(std::size_t bytes, int& userfaultfd)
{
    userfaultfd = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC));
    uffdio_api api{};
    api.api = UFFD_API;
    require(userfaultfd >= 0 && ::ioctl(userfaultfd, UFFDIO_API, &api) == 0,
            "userfaultfd");
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uffdio_register range{};
    range.range = {reinterpret_cast<std::uint64_t>(at), bytes};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    require(at != MAP_FAILED && ::ioctl(userfaultfd, UFFDIO_REGISTER, &range) == 0,
            "register");
    return at;
}

int claim(void* file)
{
    dtk_claim request{};
    request.file = reinterpret_cast<std::uint64_t>(file);
    request.file_bytes = 1 << 20;
    return ::ioctl(open_device(), DTK_CLAIM, &request);
}

int claims()
{
    const pid_t held = ::fork();
    require(held >= 0, "fork");
    if (held == 0) {
        int userfaultfd;
        void* pages = absent_pages(1 << 20, userfaultfd);
        std::thread claimer([pages] { claim(pages); });
        uffd_msg message{};
        require(::read(userfaultfd, &message, sizeof message) == sizeof message,
                "read userfaultfd");
        std::puts("a claim waits");
        ::pause();
    }
    ::sleep(2);
    const pid_t second = ::fork();
    require(second >= 0, "fork");
    if (second == 0) {
        static char file[1 << 20];
        std::printf("the second claim: %s\n",
                    claim(file) == 0 ? "done" : std::strerror(errno));
        std::exit(0);
    }
    int n_ms = 0;
    while (n_ms < 10'000 && ::waitpid(second, nullptr, WNOHANG) == 0) {
        ::usleep(10'000);
        n_ms += 10;
    }
    std::puts(n_ms < 10'000 ? "the second claim did not wait"
                            : "the second claim waits");
    ::kill(held, SIGKILL);
    ::waitpid(held, nullptr, 0);
    return 0;
}

void make_arena(int device)
{
    dtk_arena request{};
    for (dt_u64& option : request.config.options)
        option = DT_OPT_UNSET;
    request.config.options[DTRACEOPT_bufsize] = 16384;
    request.config.options[DTRACEOPT_aggsize] = 16384;
    request.config.options[DTRACEOPT_dynvarsize] = 65536;
    request.config.max_probes = request.config.max_ecbs = 64;
    require(::ioctl(device, DTK_ARENA, &request) == 0, "make an arena");
    const char names[] =
        "dtrace\0\0\0BEGIN\0dtrace\0\0\0END\0dtrace\0\0\0ERROR\0sdt\0\0f\0e";
    dtk_list list{reinterpret_cast<dt_u64>(names), sizeof names, 4, 0};
    require(::ioctl(device, DTK_PROBES, &list) == 0, "add probes");
}

dt_u32 attach(int device, std::vector<dtk_site>& sites)
{
    dtk_list list{reinterpret_cast<dt_u64>(sites.data()),
                  sites.size() * sizeof(dtk_site), static_cast<dt_u32>(sites.size()),
                  0};
    require(::ioctl(device, DTK_ATTACH, &list) == 0, "attach");
    return list.n_done;
}

int tracepoints()
{
    constexpr int n_calls = 1000;
    const char name[] = "sys_enter";
    const int device = open_device();
    make_arena(device);
    std::vector<dtk_site> sites(4000);
    for (dtk_site& site : sites)
        site = {4, DTK_TRACEPOINT, reinterpret_cast<dt_u64>(name), 0, 0, 0};
    const dt_u32 n_attached = attach(device, sites);
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < n_calls; i++)
        ::syscall(SYS_getppid);
    std::printf("%u callbacks, %d calls took %lld ms\n", n_attached, n_calls,
                static_cast<long long>(ms_since(begun)));
    return 0;
}

int functions()
{
    const pid_t attacher = ::fork();
    require(attacher >= 0, "fork");
    if (attacher == 0) {
        const int device = open_device();
        make_arena(device);
        std::vector<dtk_site> sites(1u << 20);
        for (dtk_site& site : sites)
            site = {4, DTK_FBT_ENTRY, 4096, 0, 0, 0};
        attach(device, sites);
        std::puts("all places were tried before the end");
        std::exit(0);
    }
    ::sleep(2);
    const auto begun = std::chrono::steady_clock::now();
    ::kill(attacher, SIGKILL);
    ::waitpid(attacher, nullptr, 0);
    std::printf("it ended %s\n", ms_since(begun) < 2000 ? "at once" : "late");
    return 0;
}

dt_u64 address_of_function(const std::string& name)
{
    std::ifstream symbols("/proc/kallsyms");
    std::string address, kind, symbol;
    while (symbols >> address >> kind >> symbol)
        if (symbol == name)
            return std::stoull(address, nullptr, 16);
    std::fprintf(stderr, "there is no function %s\n", name.c_str());
    std::exit(2);
}

int returns(int n_rounds)
{
    const dt_u64 function = address_of_function("version_proc_show");
    int n_attached = 0, n_refused = 0;
    for (int i = 0; i < n_rounds; i++) {
        const int device = open_device();
        make_arena(device);
        std::vector<dtk_site> sites = {{4, DTK_FBT_RETURN, function, 0, 0, 0}};
        // Attaching is slow, so only every 16th round attaches. The other rounds pass
        // an address that the module refuses, which also uses a slot.
        if (i % 16 != 0)
            sites[0].where = 4096;
        (attach(device, sites) == 1 && sites[0].error == 0 ? n_attached : n_refused)++;
        ::close(device);
    }
    std::printf("%d attached, %d refused\n", n_attached, n_refused);
    return 0;
}

int arenas(int n_rounds)
{
    constexpr std::size_t most_bytes = 4 << 20;
    int n_mapped = 0;
    for (int i = 0; i < n_rounds; i++) {
        const int device = open_device();
        std::atomic<bool> started = false, ended = false;
        std::thread mapper([&] {
            started = true;
            while (!ended) {
                // The size of the program part is unknown, so try several sizes.
                for (std::size_t bytes = most_bytes; bytes >= 4096; bytes /= 2) {
                    void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, device, 0);
                    if (at == MAP_FAILED)
                        continue;
                    n_mapped++;
                    const volatile char* read = static_cast<char*>(at);
                    (void)read[bytes - 1];
                    ::munmap(at, bytes);
                    return;
                }
            }
        });
        while (!started)
            std::this_thread::yield();
        make_arena(device);
        ::usleep(1000);
        ended = true;
        mapper.join();
        ::close(device);
    }
    std::puts(n_mapped > 0 ? "done" : "no arena was mapped");
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    const int n_rounds = argc > 2 ? std::atoi(argv[2]) : 100;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (mode == "claims")
        return claims();
    if (mode == "tracepoints")
        return tracepoints();
    if (mode == "functions")
        return functions();
    if (mode == "returns")
        return returns(n_rounds);
    if (mode == "arenas")
        return arenas(n_rounds);
    std::fprintf(stderr, "usage: unfair_device "
                         "claims|tracepoints|functions|returns|arenas\n");
    return 2;
}
