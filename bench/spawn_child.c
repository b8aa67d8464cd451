// SPDX-License-Identifier: Apache-2.0
/* The smallest program that stays: no C library, a page or two of memory. It ends with whoever
 * started it, or after five minutes. */
#include <sys/syscall.h>

#if !defined(__x86_64__)
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(300);
    for (;;)
        (void)pause();
}
#else
static long call(long number, long a, long b)
{
    long r;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "0"(number), "D"(a), "S"(b), "d"(0L)
                     : "rcx", "r11", "memory");
    return r;
}

__attribute__((noreturn, used)) void _start(void);
void _start(void)
{
    (void)call(SYS_prctl, 1, 9); /* PR_SET_PDEATHSIG, SIGKILL */
    (void)call(SYS_alarm, 300, 0);
    for (;;)
        (void)call(SYS_pause, 0, 0);
}
#endif
