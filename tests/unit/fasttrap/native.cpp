// SPDX-License-Identifier: MIT
#include "native.hpp"

#include <asm/prctl.h>
#include <cpuid.h>
#include <csignal>
#include <cstring>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

// The data of the thunk that starts a run. `landed` is the address at which the run
// ended. The host_* members save the test's own registers.
extern "C" {
struct ThunkBlock {
    std::uint64_t general[16];
    std::uint64_t rflags;
    std::uint64_t rip;
    std::uint64_t landed;
    std::uint64_t host_rsp;
    std::uint64_t vector_mask;
    void* vectors;
    std::uint32_t host_mxcsr;
    std::uint16_t host_fcw;
};
ThunkBlock ft_block;
void ft_thunk();
void ft_land_behind();
void ft_land_target();
void ft_recover();
}

// clang-format off
asm(R"(
.pushsection .text
.globl ft_thunk
.type ft_thunk, @function
ft_thunk:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, ft_block+152(%rip)
    stmxcsr ft_block+176(%rip)
    fnstcw ft_block+180(%rip)
    mov ft_block+168(%rip), %rcx
    mov ft_block+160(%rip), %eax
    xor %edx, %edx
    xrstor64 (%rcx)
    push ft_block+128(%rip)
    popf
    mov ft_block+0(%rip), %rax
    mov ft_block+8(%rip), %rcx
    mov ft_block+16(%rip), %rdx
    mov ft_block+24(%rip), %rbx
    mov ft_block+32(%rip), %rsp
    mov ft_block+40(%rip), %rbp
    mov ft_block+48(%rip), %rsi
    mov ft_block+56(%rip), %rdi
    mov ft_block+64(%rip), %r8
    mov ft_block+72(%rip), %r9
    mov ft_block+80(%rip), %r10
    mov ft_block+88(%rip), %r11
    mov ft_block+96(%rip), %r12
    mov ft_block+104(%rip), %r13
    mov ft_block+112(%rip), %r14
    mov ft_block+120(%rip), %r15
    jmp *ft_block+136(%rip)

.globl ft_land_target
.type ft_land_target, @function
ft_land_target:
    movq $1, ft_block+144(%rip)
    jmp ft_land
.globl ft_land_behind
.type ft_land_behind, @function
ft_land_behind:
    movq $0, ft_block+144(%rip)
ft_land:
    mov %rax, ft_block+0(%rip)
    mov %rcx, ft_block+8(%rip)
    mov %rdx, ft_block+16(%rip)
    mov %rbx, ft_block+24(%rip)
    mov %rsp, ft_block+32(%rip)
    mov %rbp, ft_block+40(%rip)
    mov %rsi, ft_block+48(%rip)
    mov %rdi, ft_block+56(%rip)
    mov %r8, ft_block+64(%rip)
    mov %r9, ft_block+72(%rip)
    mov %r10, ft_block+80(%rip)
    mov %r11, ft_block+88(%rip)
    mov %r12, ft_block+96(%rip)
    mov %r13, ft_block+104(%rip)
    mov %r14, ft_block+112(%rip)
    mov %r15, ft_block+120(%rip)
    mov ft_block+152(%rip), %rsp
    pushf
    pop ft_block+128(%rip)
.globl ft_recover
.type ft_recover, @function
ft_recover:
    cld
    mov ft_block+152(%rip), %rsp
    mov ft_block+168(%rip), %rcx
    mov ft_block+160(%rip), %eax
    xor %edx, %edx
    xsave64 (%rcx)
    fninit
    fldcw ft_block+180(%rip)
    ldmxcsr ft_block+176(%rip)
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
.popsection
)");
// clang-format on

namespace dt::test {

static_assert(offsetof(ThunkBlock, rflags) == 128 && offsetof(ThunkBlock, rip) == 136 &&
              offsetof(ThunkBlock, landed) == 144 &&
              offsetof(ThunkBlock, host_rsp) == 152 &&
              offsetof(ThunkBlock, vector_mask) == 160 &&
              offsetof(ThunkBlock, vectors) == 168 &&
              offsetof(ThunkBlock, host_mxcsr) == 176 &&
              offsetof(ThunkBlock, host_fcw) == 180);

static NativeState* running = nullptr;

static void on_signal(int signal, siginfo_t* info, void* context)
{
    auto* user = static_cast<ucontext_t*>(context);
    if (running == nullptr) { // the test itself has faulted
        std::signal(signal, SIG_DFL);
        return;
    }
    const greg_t* g = user->uc_mcontext.gregs;
    constexpr int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                             REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                             REG_R12, REG_R13, REG_R14, REG_R15};
    for (std::size_t i = 0; i < 16; ++i)
        ft_block.general[i] = static_cast<std::uint64_t>(g[order[i]]);
    ft_block.rflags = static_cast<std::uint64_t>(g[REG_EFL]);
    ft_block.landed = static_cast<std::uint64_t>(g[REG_RIP]);
    running->signal = signal;
    running->fault_address = reinterpret_cast<std::uint64_t>(info->si_addr);
    user->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&ft_recover);
    // On some machines, a return to user mode with an rsp that is not canonical raises
    // SIGSEGV again, without end.
    user->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(ft_block.host_rsp);
    user->uc_mcontext.gregs[REG_EFL] = 0x202;
}

static void install_handlers()
{
    alignas(16) static std::byte stack[65536];
    stack_t alternate{};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    sigaltstack(&alternate, nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP})
        sigaction(signal, &action, nullptr);
}

static std::uint32_t supported_vectors()
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0)
        return 0;
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low & 0xe7; // x87, SSE, AVX, AVX-512
}

bool native_supported()
{
    return supported_vectors() != 0;
}

std::uint64_t own_fs_base()
{
    unsigned long base = 0;
    syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
    return base;
}

void native_run(NativeState& state, std::array<std::uint64_t, 2> pads)
{
    static const std::uint32_t vectors = (install_handlers(), supported_vectors());
    std::memcpy(ft_block.general, state.regs.general.data(), sizeof ft_block.general);
    ft_block.rflags = state.regs.rflags;
    ft_block.rip = state.regs.rip;
    ft_block.vectors = state.vectors.data();
    ft_block.vector_mask = vectors;
    // The first word is XSTATE_BV. The other words are 0.
    std::uint64_t header[8] = {vectors};
    std::memcpy(state.vectors.data() + 512, header, sizeof header);
    state.signal = 0;
    state.fault_address = 0;
    running = &state;
    ft_thunk();
    running = nullptr;
    std::memcpy(state.regs.general.data(), ft_block.general, sizeof ft_block.general);
    state.regs.rflags = ft_block.rflags;
    state.regs.rip = state.signal != 0 ? ft_block.landed : pads[ft_block.landed & 1];
}

void write_pad(std::byte* at, Pad pad)
{
    constexpr unsigned char jump[6] = {0xff, 0x25, 0, 0, 0, 0}; // jmp *0(%rip)
    auto to = reinterpret_cast<std::uint64_t>(pad == Pad::behind ? &ft_land_behind
                                                                 : &ft_land_target);
    std::memcpy(at, jump, sizeof jump);
    std::memcpy(at + sizeof jump, &to, sizeof to);
}

} // namespace dt::test
