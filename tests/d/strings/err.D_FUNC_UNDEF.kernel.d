/* The error for a subroutine that needs the kernel module names the subroutine. */
BEGIN { x = mutex_owned(0); }
