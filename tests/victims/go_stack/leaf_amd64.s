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
// Calls leaf with the stack pointer at top: the call's return address is the last word
// that a function which does not check its stack may use.
TEXT ·leafAt(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	8(SP), R8
	MOVQ	SP, R9
	MOVQ	R8, SP
	CALL	·leaf(SB)
	MOVQ	R9, SP
	RET
