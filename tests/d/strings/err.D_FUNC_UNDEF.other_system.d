/* For a subroutine that only other systems have, the error message contains the subroutine's name. */
BEGIN { x = msgsize(0); }
