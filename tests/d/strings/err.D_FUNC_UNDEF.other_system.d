/* The error for a subroutine that exists only on other systems names the subroutine. */
BEGIN { x = msgsize(0); }
