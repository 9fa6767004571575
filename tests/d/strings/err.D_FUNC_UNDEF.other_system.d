/* The error for a subroutine of other systems names the subroutine. */
BEGIN { x = msgsize(0); }
