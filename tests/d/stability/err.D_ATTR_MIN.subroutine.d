/*
 * A subroutine that is less stable than -x amin is refused.
 * @flags: -x amin=Stable/Stable/Common
 */
BEGIN { trace(pid); }
BEGIN { trace(htons(1)); exit(0); }
