// SPDX-License-Identifier: MIT
// BTF for tests. It contains the types of a small invented kernel, and of a module that
// is based on that kernel.
#pragma once

#include <bpf/btf.h>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace dt {

class BtfData {
public:
    explicit BtfData(const BtfData* base = nullptr)
        : data_(base == nullptr ? btf__new_empty()
                                : btf__new_empty_split(base->data_.get()))
    {
    }
    btf* operator*() const { return data_.get(); }
    std::vector<std::byte> bytes() const
    {
        std::uint32_t size = 0;
        const void* raw = btf__raw_data(data_.get(), &size);
        auto first = static_cast<const std::byte*>(raw);
        return {first, first + size};
    }
    void write(const std::string& path) const
    {
        auto all = bytes();
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(all.data()),
                   static_cast<std::streamsize>(all.size()));
    }

private:
    struct End {
        void operator()(btf* data) const { btf__free(data); }
    };
    std::unique_ptr<btf, End> data_;
};

// The comment above each member function shows the types that the function adds.
struct SmallKernel : BtfData {
    int int_type = btf__add_int(**this, "int", 4, BTF_INT_SIGNED);
    int ulong_type = btf__add_int(**this, "long unsigned int", 8, 0);
    int char_type = btf__add_int(**this, "char", 1, 0); // as in BTF since Linux 6.2
    int task = add_task();
    int task_pointer = btf__add_ptr(**this, task);
    int pid_type = btf__add_typedef(**this, "kpid_t", int_type);
    int uint_type = btf__add_int(**this, "unsigned int", 4, 0);
    int device_type = btf__add_typedef(**this, "dev_t", uint_type);

    SmallKernel()
    {
        add_enums();
        add_functions();
        add_per_cpu();
        add_node();
    }

private:
    // struct task_struct { int pid; int flag : 3; char comm[16];
    //     struct task_struct *parent; struct files_struct *files; };
    int add_task()
    {
        const int number = static_cast<int>(btf__type_cnt(**this));
        btf__add_struct(**this, "task_struct", 40);
        btf__add_field(**this, "pid", int_type, 0, 0);
        btf__add_field(**this, "flag", int_type, 32, 3);
        btf__add_field(**this, "comm", number + 1, 64, 0);
        btf__add_field(**this, "parent", number + 2, 192, 0);
        btf__add_field(**this, "files", number + 3, 256, 0);
        btf__add_array(**this, int_type, char_type, 16);
        btf__add_ptr(**this, number);
        btf__add_ptr(**this, number + 4);
        btf__add_fwd(**this, "files_struct", BTF_FWD_STRUCT);
        return number;
    }
    void add_enums()
    {
        btf__add_enum(**this, "zone", 4);
        btf__add_enum_value(**this, "ZONE_DMA", 0);
        btf__add_enum_value(**this, "ZONE_LOST", -1);
        btf__add_enum64(**this, "wide", 8, false);
        btf__add_enum64_value(**this, "WIDE", 0x123456789ab);
    }
    // int wake(struct task_struct *task, unsigned long flags), void say(char *text,
    // ...), and the tracepoint sched_wake(struct task_struct *task)
    void add_functions()
    {
        int wake = btf__add_func_proto(**this, int_type);
        btf__add_func_param(**this, "task", task_pointer);
        btf__add_func_param(**this, "flags", ulong_type);
        btf__add_func(**this, "wake", BTF_FUNC_STATIC, wake);
        int text = btf__add_ptr(**this, char_type);
        int say = btf__add_func_proto(**this, 0);
        btf__add_func_param(**this, "text", text);
        btf__add_func_param(**this, nullptr, 0);
        btf__add_func(**this, "say", BTF_FUNC_GLOBAL, say);
        int data = btf__add_ptr(**this, 0);
        int callback = btf__add_func_proto(**this, 0);
        btf__add_func_param(**this, "__data", data);
        btf__add_func_param(**this, "task", task_pointer);
        int pointer = btf__add_ptr(**this, callback);
        btf__add_typedef(**this, "btf_trace_sched_wake", pointer);
    }
    // struct node { dev_t device; };
    void add_node()
    {
        btf__add_struct(**this, "node", 4);
        btf__add_field(**this, "device", device_type, 0, 0);
    }
    void add_per_cpu()
    {
        int variable =
            btf__add_var(**this, "runs", BTF_VAR_GLOBAL_ALLOCATED, ulong_type);
        btf__add_datasec(**this, ".data..percpu", 8);
        btf__add_datasec_var_info(**this, variable, 0, 8);
    }
};

// A module of SmallKernel, with struct super { struct task_struct *owner; } and
// int mount(struct task_struct *task).
struct SmallModule : BtfData {
    explicit SmallModule(const SmallKernel& base) : BtfData(&base)
    {
        btf__add_struct(**this, "super", 8);
        btf__add_field(**this, "owner", base.task_pointer, 0, 0);
        int mount = btf__add_func_proto(**this, base.int_type);
        btf__add_func_param(**this, "task", base.task_pointer);
        btf__add_func(**this, "mount", BTF_FUNC_STATIC, mount);
    }
};

} // namespace dt
