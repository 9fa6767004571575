/* SPDX-License-Identifier: MIT */
/* Embeds the linked runtime as a constant in libptrace_agent. */
	.section .rodata
	.globl dt_runtime_image, dt_runtime_image_end
	.hidden dt_runtime_image, dt_runtime_image_end
	.p2align 12
dt_runtime_image:
	.incbin RUNTIME_IMAGE
dt_runtime_image_end:
	.section .note.GNU-stack, "", @progbits
