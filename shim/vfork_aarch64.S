/* SPDX-License-Identifier: MIT */
/* vfork: see hook_vfork.c. The caller's return address is kept with the thread while the real call,
   which leaves the link register alone (glibc sysdeps/unix/sysv/linux/aarch64/vfork.S, musl
   src/process/aarch64/vfork.s), returns to here in both processes. */
        .text
        .globl  vfork
        .type   vfork, %function
        .globl  __vfork
        .type   __vfork, %function
vfork:
__vfork:
        .cfi_startproc
        mov     x0, x30
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        bl      ms_vfork_before
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x29
        .cfi_restore x30
        cbnz    x1, 1f
        br      x0
1:      .cfi_undefined x30
        blr     x0
        str     x0, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        bl      ms_vfork_after
        mov     x30, x0
        ldr     x0, [sp], #16
        .cfi_adjust_cfa_offset -16
        ret
        .cfi_endproc
        .size   vfork, . - vfork
        .size   __vfork, . - __vfork
        .section .note.GNU-stack, "", %progbits
