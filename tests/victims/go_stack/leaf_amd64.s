// Assembly functions that do not check for stack space.
#include "textflag.h"

// func leaf()
TEXT ·leaf(SB), NOSPLIT|NOFRAME, $0-0
	ADDQ	$1, AX
	XORQ	$3, AX
	SUBQ	$1, AX
	RET

// func leafAt(top uintptr)
//
// Calls leaf at the end of a stack. The return address is the lowest word of the stack
// that may be written.
TEXT ·leafAt(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	8(SP), R8
	MOVQ	SP, R9
	MOVQ	R8, SP
	CALL	·leaf(SB)
	MOVQ	R9, SP
	RET
