/* For a subroutine that needs the kernel module, the error message contains the subroutine's name. */
BEGIN { x = mutex_owned(0); }
