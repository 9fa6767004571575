/* If a variable needs the kernel module, the error message contains the variable's name. */
BEGIN { trace(curthread); }
