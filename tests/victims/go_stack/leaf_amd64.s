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
// Calls leaf so that its return address is the last word of the usable stack.
TEXT ·leafAt(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	8(SP), R8
	MOVQ	SP, R9
	MOVQ	R8, SP
	CALL	·leaf(SB)
	MOVQ	R9, SP
	RET
