/* SPDX-License-Identifier: MIT */
/* The linked runtime among the agent's constants. */
	.section .rodata
	.globl dt_runtime_image, dt_runtime_image_end
	.hidden dt_runtime_image, dt_runtime_image_end
	.p2align 12
dt_runtime_image:
	.incbin RUNTIME_IMAGE
dt_runtime_image_end:
	.section .note.GNU-stack, "", @progbits
