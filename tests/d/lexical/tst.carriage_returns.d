/*
 * A form feed, a vertical tab and blanks at the end of a line are blanks.
 * @flags: -q
 */
BEGIN	{   
	printf("on\n");  	
	exit(0);	}   
