// For LD_PRELOAD: a clock that is off by as many seconds as the file named in SHIFTED_CLOCK says, read at each look.
// The wall's clock alone, or with SHIFTED_MONOTONIC set the monotonic one, too, and then what is waited for by it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t shift(clockid_t clock) {
    const char *file = getenv("SHIFTED_CLOCK");
    char text[32] = "";
    int descriptor;
    if (clock != CLOCK_REALTIME && (clock != CLOCK_MONOTONIC || !getenv("SHIFTED_MONOTONIC"))) return 0;
    if (!file || (descriptor = open(file, O_RDONLY | O_CLOEXEC)) < 0) return 0;
    if (read(descriptor, text, sizeof text - 1) < 0) text[0] = 0;
    close(descriptor);
    return atoll(text);
}

static struct timespec kernels(clockid_t clock, const struct timespec *until) {
    struct timespec result = *until;
    result.tv_sec -= shift(clock);
    return result;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = syscall(SYS_clock_gettime, clock, now);
    if (status == 0) now->tv_sec += shift(clock);
    return status;
}

time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict into, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    into->tv_sec = now.tv_sec;
    into->tv_usec = now.tv_nsec / 1000;
    return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left) {
    struct timespec wait = flags & TIMER_ABSTIME ? kernels(clock, until) : *until;
    int (*real)(clockid_t, int, const struct timespec *, struct timespec *) = dlsym(RTLD_NEXT, "clock_nanosleep");
    return real(clock, flags, &wait, left);
}

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until) {
    struct timespec wait = kernels(clock, until);
    int (*real)(sem_t *, clockid_t, const struct timespec *) = dlsym(RTLD_NEXT, "sem_clockwait");
    return real(semaphore, clock, &wait);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    struct timespec wait = kernels(CLOCK_REALTIME, until);
    int (*real)(sem_t *, const struct timespec *) = dlsym(RTLD_NEXT, "sem_timedwait");
    return real(semaphore, &wait);
}

// Python makes its condition variables with the monotonic clock.
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    struct timespec wait = kernels(CLOCK_MONOTONIC, until);
    int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    return real(condition, mutex, &wait);
}
