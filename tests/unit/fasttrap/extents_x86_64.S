/* SPDX-License-Identifier: MIT */
/*
 * Functions for extents_test.cpp, which analyzes all text from ex_begin to ex_end as
 * one piece.
 */
        .text

        .macro function name
        .globl \name
        .type \name, @function
\name:
        .endm
        .macro end name
        .size \name, . - \name
        .endm
        .macro place name                       /* a place that the test checks */
        .globl \name
\name:
        .endm

        .p2align 4, 0x90
        .globl ex_begin
ex_begin:

        function ex_loop                        /* a branch leads back to entry + 2 */
        xor %eax, %eax
1:      inc %eax
        dec %edi
        jne 1b
        ret
        end ex_loop

        .p2align 4, 0x90
        function ex_jumps_next_door
        mov $1, %eax
        jmp ex_neighbour_middle
        end ex_jumps_next_door

        .p2align 4, 0x90
        function ex_neighbour
        mov %rdi, %rax
ex_neighbour_middle:
        add $1, %rax
        ret
        end ex_neighbour

        .p2align 4, 0x90
        function ex_label_inside                /* the test passes the label as if it were a symbol */
        mov %rdi, %rax
        place ex_label
        add $1, %rax
        ret
        end ex_label_inside

        .p2align 4, 0x90
        function ex_hot
        test %edi, %edi
        je ex_hot_cold
        mov %rdi, %rax
        place ex_hot_return_point
        add $7, %rax
        place ex_hot_ret
        ret
        end ex_hot

        .p2align 4, 0x90
        function ex_hot_cold
        mov $-1, %eax
        jmp ex_hot_return_point
        end ex_hot_cold

        .p2align 4, 0x90
        function ex_switch                      /* the table's entries are relative to the table */
        cmp $1, %edi
        ja 9f
        lea ex_table(%rip), %rdx
        movslq (%rdx,%rdi,4), %rax
        add %rdx, %rax
        jmp *%rax
        place ex_case_0
        mov %esi, %eax                          /* falls through */
        place ex_case_1
        add %esi, %eax
        place ex_switch_ret
        ret
9:      xor %eax, %eax
        ret
        end ex_switch

        .p2align 4, 0x90
        function ex_differences                 /* the table's entries are relative to a label in the function */
        lea ex_difference_table(%rip), %rdx
        movslq (%rdx,%rdi,4), %rax
        lea ex_difference_base(%rip), %rdx
        add %rdx, %rax
        jmp *%rax
        place ex_difference_base
        mov %esi, %eax
        place ex_difference_1
        add %esi, %eax
        ret
        end ex_differences

        .p2align 4, 0x90
        function ex_goto                        /* the table's entries are addresses */
        lea ex_words(%rip), %rdx
        mov (%rdx,%rdi,8), %rax
        jmp *%rax
        place ex_goto_0
        mov %esi, %eax
        place ex_goto_1
        add %esi, %eax
        ret
        end ex_goto

        .p2align 4, 0x90
        function ex_anywhere                    /* its table cannot be found */
        mov %rdx, %rcx
        mov (%rsi,%rdi,8), %rax
        mov %rcx, %rdx
        mov %rcx, %rdx
        mov %rcx, %rdx
        place ex_anywhere_inside
        mov %rdx, %rcx
        jmp *%rax
        mov %esi, %eax
        ret
        end ex_anywhere

        .p2align 4, 0x90
        function ex_call_through_memory         /* a tail call, without a table */
        mov 8(%rdi), %rax
        place ex_tail_jump
        jmp *16(%rax)
        end ex_call_through_memory

        .p2align 4, 0x90
        function ex_short_padded
        ret
        end ex_short_padded
        .p2align 4, 0x90

        function ex_short_int3
        ret
        end ex_short_int3
        .p2align 4, 0xcc

        function ex_short_bare
        ret
        end ex_short_bare
        function ex_after_short_bare
        xor %eax, %eax
        place ex_bare_ret
        ret
        end ex_after_short_bare
        function ex_ret_at_target
        xor %eax, %eax
        test %edi, %edi
        je 1f
        mov %edi, %eax
        place ex_target_ret
1:      ret
        end ex_ret_at_target
        function ex_ret_behind_a_line
        mov %rdi, %rax
        add %rsi, %rax
        place ex_line_ret
        ret
        end ex_ret_behind_a_line
        function ex_lock
        cmpl $0, ex_words(%rip)
        je 1f
        place ex_lock_prefix
        lock
1:      cmpxchg %esi, (%rdi)
        place ex_behind_lock
        mov %rdi, %rax
        ret
        end ex_lock

        .p2align 4, 0x90
        function ex_constants
        lea ex_constant(%rip), %rax
        place ex_constants_ret
        ret
        .byte 0x90, 0x90
ex_constant:                                    /* looks like padding */
        .byte 0x90, 0x90, 0x90, 0x90, 0x90, 0x90
        end ex_constants

        .p2align 4, 0x90
        function ex_landing
        endbr64
        mov %rdi, %rax
        place ex_endbr
        endbr64
        add $1, %rax
        ret
        end ex_landing

        .p2align 4, 0x90
        function ex_unreached                   /* no known code jumps to it */
        jmp ex_short_padded
        place ex_unreached_code
        mov %rdi, %rax
        ret
        end ex_unreached

        .p2align 4, 0x90
        function ex_transaction
        xbegin 1f
        mov %rdi, %rax
        place ex_transaction_abort
1:      add $1, %rax
        ret
        end ex_transaction

        .p2align 4, 0x90
        function ex_restartable
        mov %rdi, %rax
        place ex_sequence
        mov (%rsi), %rcx
        mov %rcx, (%rdi)
        place ex_sequence_end
        mov %rdi, %rax
        ret
        end ex_restartable

        .p2align 4, 0x90
        function ex_table_in_text               /* a byte of padding, then the function's data */
        lea ex_text_table(%rip), %rdx
        test %rdi, %rdi
        je 1f
        mov (%rdx,%rdi,8), %rax
        place ex_table_ret
1:      ret
        .byte 0xcc
ex_text_table:
        place ex_text_table_ret
        .byte 0xc3, 0x90, 0xeb, 0xfd            /* ret; nop; jmp back to the nop */
        .quad 0x1122334455667788, 0xc3c3c3c3c3c3c3c3
        end ex_table_in_text

        .p2align 4, 0x90
        function ex_biased_table                /* no instruction contains the table's address */
        lea ex_biased_constants + 128(%rip), %rdx
        mov -128(%rdx,%rdi,8), %rax
        place ex_biased_ret
        ret
        .byte 0x90, 0xcc
ex_biased_constants:
        .byte 0x90, 0x90, 0xc3, 0x70, 0xf8      /* nop; nop; ret; jo back to the table */
        .quad 0xc3c3c3c3c3c3c3c3
        end ex_biased_table

        .p2align 4, 0x90
        function ex_padding_table               /* its data looks like int3 and nop */
        lea ex_padding_constants(%rip), %rdx
        mov (%rdx,%rdi,8), %rax
        place ex_padding_ret
        ret
ex_padding_constants:
        place ex_padding_data
        .byte 0xf2, 0xcc, 0xcc, 0x90, 0xcc, 0x90, 0x90, 0x90
        end ex_padding_table

        .p2align 4, 0x90
        function ex_halts                       /* like musl's __stack_chk_fail */
        hlt
        place ex_halts_ret
        ret
        end ex_halts

        .p2align 4, 0x90
        function ex_loads_its_text              /* the data is between the instructions */
        mov ex_loaded(%rip), %rax
        jmp *%rsi
        end ex_loads_its_text
        function ex_before_loaded
        xor %eax, %eax
        call *%rdi
ex_loaded:
        place ex_loaded_place
        .byte 0x90, 0xc3
        end ex_before_loaded

        .p2align 4, 0x90
        function ex_named_by_chance             /* data looks like a branch into this function */
        sub $8, %rsp
        push %rax
        pop %rax
        add $8, %rsp
        ret
        .byte 0x70, ex_named_by_chance + 2 - . - 1  /* jo */
        end ex_named_by_chance

        .p2align 4, 0x90
        function ex_falls_into_jump             /* the code at ex_arm falls through to the indirect jump */
        lea ex_arm(%rip), %rdx
        mov %rdx, %rdi
        jmp 1f
ex_arm: place ex_arm_place
        add $5, %eax
        movslq (%rcx,%rsi,4), %rdx
        add %rdi, %rdx
1:      jmp *%rdx
        add %eax, %eax
        place ex_arm_ret
        ret
        end ex_falls_into_jump

        .p2align 4, 0x90
        function ex_reads_a_named_place         /* its data looks like a switch arm */
        lea ex_named_data(%rip), %rdx
        mov (%rdx,%rdi,8), %rax
        jmp *%rax
ex_named_data:
        place ex_named_data_place
        .byte 0x89, 0xc0, 0x89, 0xc0, 0x89, 0xc0, 0x89, 0xc3
        .byte 0x89, 0xc0, 0x89, 0xc0, 0x89, 0xc0, 0x90, 0xc3
        end ex_reads_a_named_place

        .p2align 4, 0x90
        function ex_jumps_by_the_stack          /* the code at ex_stack_arm falls through to known code */
        lea ex_stack_arm(%rip), %rdx
        mov %rdx, -8(%rsp)
        test %edi, %edi
        je 1f
        jmp *-8(%rsp)
ex_stack_arm: place ex_stack_arm_place
        add $5, %eax
1:      add %eax, %eax
        ret
        end ex_jumps_by_the_stack

        .p2align 4, 0x90
        function ex_hidden                      /* the data decodes as an instruction that overlaps the code after it */
        test %edi, %edi
        jne 2f
        ret
        .byte 0x48, 0xb8                        /* mov $imm64, %rax */
        place ex_hidden_code
2:      mov %rdi, %rax
        add $1, %rax
        place ex_hidden_ret
        ret
        end ex_hidden

        .p2align 4, 0x90
        .globl ex_end
ex_end:

        .section .rodata
        .p2align 3
        .globl ex_table
ex_table:
        .long ex_case_0 - ex_table
        .long ex_case_1 - ex_table
ex_difference_table:
        .long 0
        .long ex_difference_1 - ex_difference_base
        .long 0x40000000
        .globl ex_tables_end
ex_tables_end:

        .data
        .p2align 3
        .globl ex_words
ex_words:
        .quad ex_goto_0
        .quad ex_goto_1
        .section .note.GNU-stack, "", @progbits
