// SPDX-License-Identifier: MIT
#include "program.hpp"

#include "calls.hpp"

#include <algorithm>
#include <array>
#include <fnmatch.h>
#include <map>

namespace {

constexpr std::array registers{"uregs[R_RDI]", "uregs[R_RSI]", "uregs[R_RDX]",
                               "uregs[R_R10]", "uregs[R_R8]",  "uregs[R_R9]"};
// These calls do not return, or return to another program.
constexpr std::array<std::string_view, 5> without_return{
    "exit", "exit_group", "rt_sigreturn", "execve", "execveat"};

bool is_wanted(const Arguments& args, std::string_view call)
{
    return args.calls.empty() ||
           std::any_of(args.calls.begin(), args.calls.end(), [&](const auto& pattern) {
               return fnmatch(pattern.c_str(), std::string(call).c_str(), 0) == 0;
           });
}

// Returns the condition under which a process is traced. Without the kernel module, it
// is always true.
std::string condition(const Arguments& args)
{
    std::vector<std::string> targets;
    for (const pid_t pid : args.pids)
        targets.push_back(std::to_string(pid));
    if (targets.empty())
        targets.push_back("$target");
    std::string any;
    for (const std::string& target : targets)
        any += (any.empty() ? "(pid == " : " || pid == ") + target +
               (args.follow ? " || progenyof(" + target + ")" : "");
    any += ")";
    if (!args.name.empty()) {
        any += " && execname == \"";
        for (const char c : args.name)
            any += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
        any += "\"";
    }
    return any;
}

// Returns the probes of these calls, separated by commas.
std::string probes(const std::vector<std::string>& calls, std::string_view name)
{
    std::string list;
    for (const std::string& call : calls)
        list += (list.empty() ? "" : ",\n") + ("syscall::" + call + ":") +
                std::string(name);
    return list;
}

std::string trace(std::string_view value)
{
    return "\ttrace((int64_t)(" + std::string(value) + "));\n";
}

std::string numbers(const Arguments& args, RecordKind kind, std::string_view result)
{
    std::string text = trace(std::to_string(kind)) + trace("tid");
    for (const char* reg : registers)
        text += trace(reg);
    return text + trace(result) + trace("errno") + trace("self->began") +
           trace("timestamp") + trace(args.cpu ? "vtimestamp - self->cpu" : "0");
}

struct MemoryArgument {
    std::size_t index;
    char kind;
    auto operator<=>(const MemoryArgument&) const = default;
};

std::vector<MemoryArgument> memory_of(std::string_view arguments)
{
    std::vector<MemoryArgument> all;
    for (std::size_t i = 0; i < arguments.size(); i++)
        if (is_memory(arguments[i]))
            all.push_back({i, arguments[i]});
    return all;
}

// Returns the statements that record an argument. A null pointer is replaced with the
// stack pointer, so that the record has the same size.
std::string capture(const MemoryArgument& argument)
{
    const std::string reg = registers.at(argument.index);
    const std::string from = reg + " ? " + reg + " : uregs[R_RSP]";
    if (argument.kind == 's')
        return "\ttrace(copyinstr(" + from + "));\n";
    const std::string most = std::to_string(bytes_of(argument.kind));
    std::string n = most;
    if (is_buffer(argument.kind)) {
        const std::string length =
            argument.kind != 'b'
                ? "(int64_t)arg0"
                : "(int64_t)" + std::string(registers.at(argument.index + 1));
        n = length + " > " + most + " ? " + most + " : " + length + " > 0 ? " + length +
            " : 1";
    }
    const std::string memory = "this->memory" + std::to_string(argument.index);
    return "\t" + memory + " = alloca(" + most + ");\n\tcopyinto(" + from + ", " + n +
           ", " + memory + ");\n\ttracemem(" + memory + ", " + most + ");\n";
}

std::string summary_text(const std::string& entries, const std::string& returns,
                         const std::string& wanted)
{
    return entries + "\n/" + wanted + "/\n{ self->began = timestamp; }\n" + returns +
           "\n/self->began && errno != 0/\n{ @errors[probefunc] = count(); }\n" +
           returns +
           "\n/self->began/\n{\n\t@calls[probefunc] = count();\n"
           "\t@times[probefunc] = sum(timestamp - self->began);\n"
           "\tself->began = 0;\n}\n";
}

} // namespace

bool is_buffer(char kind)
{
    return kind == 'b' || kind == 'B' || kind == 'R';
}

unsigned bytes_of(char kind)
{
    switch (kind) {
    case 'b':
    case 'B':
    case 'R':
        return buffer_bytes;
    case 'Q':
    case 'q':
        return 32; // the kernel's struct sigaction
    case 'E':
    case 'n':
        return 16; // struct rlimit
    case 'T':
        return 144; // struct stat
    case 'N':
        return 16; // struct timespec
    case 'I':
    case 'G':
    case 'J':
        return 8;
    case 'K':
        return 4;
    case 'A':
        return 112; // struct sockaddr_un, rounded
    default:
        return 0;
    }
}

bool is_memory(char kind)
{
    return kind == 's' || bytes_of(kind) != 0;
}

std::string program_text(const Arguments& args)
{
    const std::string wanted = condition(args);
    std::string entries = "syscall:::entry", returns = "syscall:::return";
    if (!args.calls.empty()) {
        entries = probes(args.calls, "entry");
        returns = probes(args.calls, "return");
    }
    if (args.counts)
        return summary_text(entries, returns, wanted);
    std::map<std::vector<MemoryArgument>, std::vector<std::string>> groups;
    std::string text = entries + "\n/" + wanted + "/\n{\n\tself->began = timestamp;\n" +
                       (args.cpu ? "\tself->cpu = vtimestamp;\n" : "") + "}\n";
    const std::string stack = args.stacks ? "\tustack();\n" : "";
    each_call([&](std::string_view call, std::string_view arguments) {
        if (!is_wanted(args, call))
            return;
        const auto memory = memory_of(arguments);
        const bool returns_never =
            std::find(without_return.begin(), without_return.end(), call) !=
            without_return.end();
        if (returns_never) {
            text += probes({std::string(call)}, "entry") + "\n/" + wanted + "/\n{\n" +
                    numbers(args, record_entry, "0");
            for (const MemoryArgument& argument : memory)
                text += capture(argument);
            text += stack + "}\n";
        } else if (!memory.empty()) {
            groups[memory].emplace_back(call);
        }
    });
    for (const auto& [memory, calls] : groups) {
        text += probes(calls, "return") + "\n/self->began/\n{\n" +
                numbers(args, record_call, "arg0");
        for (const MemoryArgument& argument : memory)
            text += capture(argument);
        text += stack + "\tself->began = 0;\n}\n";
    }
    text += returns + "\n/self->began/\n{\n" + numbers(args, record_call, "arg0") +
            stack + "\tself->began = 0;\n}\n";
    if (is_wanted(args, "execve"))
        text += "proc:::exec-success\n/" + wanted + "/\n{\n" +
                numbers(args, record_executed, "0") + "\tself->began = 0;\n}\n";
    if (args.calls.empty())
        text += "proc:::signal-handle\n/" + wanted + "/\n{\n" +
                trace(std::to_string(record_signal)) + trace("tid") + trace("args[0]") +
                trace("args[1]->si_code") + trace("args[1]->si_pid") +
                trace("args[1]->si_uid") + trace("args[1]->si_addr") +
                trace("args[1]->si_status") + trace("0") + trace("0") + trace("0") +
                trace("timestamp") + trace("0") + "}\n";
    return text;
}
