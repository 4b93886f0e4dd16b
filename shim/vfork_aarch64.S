/* SPDX-License-Identifier: MIT */
/* vfork: see hook_vfork.c. The caller's return address is kept with the thread while the real call,
   which leaves the link register alone (glibc sysdeps/unix/sysv/linux/aarch64/vfork.S, musl
   src/process/aarch64/vfork.s), returns to here in both processes. */
        .text
        .globl  vfork
        .type   vfork, %function
vfork:
        .cfi_startproc
        mov     x0, x30
        stp     x29, x30, [sp, #-16]!
        bl      ms_vfork_before
        ldp     x29, x30, [sp], #16
        cbnz    x1, 1f
        br      x0
1:      .cfi_undefined x30
        blr     x0
        str     x0, [sp, #-16]!
        bl      ms_vfork_after
        mov     x30, x0
        ldr     x0, [sp], #16
        ret
        .cfi_endproc
        .size   vfork, . - vfork
        .section .note.GNU-stack, "", %progbits
