/* SPDX-License-Identifier: MIT */
/* Functions for function_test.cpp, which knows the offsets of their sites. */
        .text

        .macro function name
        .globl \name
        .type \name, @function
\name:
        .endm
        .macro end name
        .size \name, . - \name
        .endm

        function ft_one_ret
        ret
        end ft_one_ret

        function ft_endbr_ret
        endbr64
        ret
        end ft_endbr_ret

        function ft_all_rets                    /* rets at 2, 5, 8 */
        jz 1f
        nop
        .byte 0xf2
        ret
1:      ret $16
        rep ret
        end ft_all_rets

        function ft_tail_jumps                  /* jcc at 2, jmp at 8 */
        test %edi, %edi
        .byte 0x0f, 0x84                        /* je ft_one_ret */
        .long ft_one_ret - . - 4
        .byte 0xe9                              /* jmp ft_endbr_ret */
        .long ft_endbr_ret - . - 4
        end ft_tail_jumps

        function ft_jumps_inside                /* one ret at 11 */
        xor %eax, %eax
1:      inc %eax
        loop 1b
        jrcxz 2f
        jmp ft_jumps_inside
        nop
2:      ret
        end ft_jumps_inside

        function ft_tail_memory                 /* tail calls at 0, 6, 9, 11 */
        jmp *ft_pointer(%rip)
        jmp *8(%rax)
        jmp *%rax
        notrack jmp *16(%rbx)
        end ft_tail_memory

        function ft_data_in_text                /* jump at 19; 4 entries follow it */
        cmp $3, %edi
        ja 9f
        lea 1f(%rip), %rdx
        movslq (%rdx,%rdi,4), %rax
        add %rdx, %rax
        jmp *%rax
1:      .long 2f - 1b
        .long 3f - 1b
        .long 2f - 1b
        .long 9f - 1b
2:      mov $1, %eax
        ret
3:      mov $2, %eax
        ret
9:      xor %eax, %eax
        ret
        end ft_data_in_text

        function ft_undecodable                 /* byte 1 is not an instruction */
        nop
        .byte 0x06
        ret
        end ft_undecodable

        .data
        .globl ft_pointer
ft_pointer:
        .quad 0
        .section .note.GNU-stack, "", @progbits
