"""Linear algebra: factorizations, systems, determinants, singular values."""

import torch
from harness import Make, op, x

aten, linalg = torch.ops.aten, torch.linalg


def square(*shape: int) -> Make:
    """Far from singular."""
    make = x(*shape)
    return lambda random: make(random) + 6 * torch.eye(shape[-1])


def positive(*shape: int) -> Make:
    make = x(*shape)

    def spd(random: torch.Generator) -> torch.Tensor:
        a = make(random)
        return a @ a.mT + torch.eye(shape[-1])

    return spd


def singular(*shape: int) -> Make:
    """The last row is the sum of the others."""
    make = x(*shape)

    def dependent(random: torch.Generator) -> torch.Tensor:
        a = make(random)
        a[..., -1, :] = a[..., :-1, :].sum(-2)
        return a

    return dependent


CLOSE = (1e-3, 1e-4)

factors = [
    op("cholesky", lambda a: (linalg.cholesky(a), linalg.cholesky(a, upper=True)), positive(3, 5, 5)),
    op("cholesky.large", linalg.cholesky, positive(70, 70), tolerance=CLOSE),
    op("cholesky_ex", lambda a: linalg.cholesky_ex(a)[1], lambda r: torch.stack([torch.eye(3), torch.diag(torch.tensor([1.0, -1.0, 1.0]))])),
    op("cholesky_solve", lambda a, b: torch.cholesky_solve(b, linalg.cholesky(a)), positive(4, 4), x(4, 3)),
    op("cholesky_inverse", lambda a: torch.cholesky_inverse(linalg.cholesky(a)), positive(2, 4, 4), tolerance=CLOSE),
    op("lu", lambda a: linalg.lu(a), x(2, 4, 4)),
    op("lu.tall", lambda a: linalg.lu(a), x(5, 3)),
    op("lu.wide", lambda a: linalg.lu(a), x(3, 5)),
    op("lu_factor", lambda a: linalg.lu_factor(a), x(2, 4, 4)),
    op("lu_solve", lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b), square(4, 4), x(4, 2)),
    op("lu_solve.adjoint", lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, adjoint=True), square(4, 4), x(4, 2)),
    op("lu_solve.right", lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, left=False), square(4, 4), x(2, 4)),
    op("qr", lambda a: linalg.qr(a), x(2, 5, 3)),
    op("qr.wide", lambda a: linalg.qr(a), x(3, 5)),
    op("qr.complete", lambda a: linalg.qr(a, "complete"), x(5, 3)),
    op("qr.r", lambda a: linalg.qr(a, "r")[1], x(5, 3)),
    op("geqrf", torch.geqrf, x(2, 5, 3)),
    op("householder_product", lambda a: linalg.householder_product(*torch.geqrf(a)), x(2, 5, 3)),
    op("ormqr", lambda a, c: torch.ormqr(*torch.geqrf(a), c, transpose=True), x(5, 3), x(5, 2)),
    op("ldl", lambda a: linalg.ldl_factor(a + a.mT)[:2], x(5, 5)),
    op("ldl_solve", lambda a, b: linalg.ldl_solve(*linalg.ldl_factor(a + a.mT), b), x(5, 5), x(5, 2), tolerance=CLOSE),
]  # fmt: skip

systems = [
    op("solve", linalg.solve, square(2, 4, 4), x(2, 4, 3)),
    op("solve.vector", linalg.solve, square(4, 4), x(4)),
    op("solve.vectors", linalg.solve, square(2, 4, 4), x(2, 4)),
    op("solve.broadcast", linalg.solve, square(2, 1, 4, 4), x(3, 4, 2)),
    op("solve.right", lambda a, b: linalg.solve(a, b, left=False), square(4, 4), x(3, 4)),
    op("solve.f64", linalg.solve, lambda r: square(4, 4)(r).double(), x(4, 2, dtype=torch.float64)),
    op("solve.dynamic", linalg.solve, square(4, 4), x(4, 3),
       dynamic=({0: torch.export.Dim("n", min=2), 1: torch.export.Dim("n", min=2)}, {0: torch.export.Dim("n", min=2)}),
       other=(square(7, 7), x(7, 3))),
    op("inv", linalg.inv, square(3, 4, 4)),
    op("inv.large", linalg.inv, square(60, 60), tolerance=CLOSE),
    op("tensorinv", lambda a: linalg.tensorinv(a.reshape(2, 3, 6), 2), square(6, 6)),
    op("tensorsolve", lambda a, b: linalg.tensorsolve(a.reshape(2, 3, 6), b), square(6, 6), x(2, 3)),
    *(op(f"solve_triangular.{upper}.{left}.{unit}",
         lambda a, b, upper=upper, left=left, unit=unit:
         linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit), square(2, 3, 3), x(2, 3, 3))
      for upper in (True, False) for left in (True, False) for unit in (True, False)),
    op("triangular_solve", lambda b, a: torch.triangular_solve(b, a, transpose=True).solution, x(4, 2), square(4, 4)),
    op("det", lambda a: (linalg.det(a), linalg.slogdet(a), torch.logdet(a)), x(6, 4, 4)),
    # The factors that derivatives count on: of the transposed matrix where a real one lies in rows.
    op("det.factors", lambda a: [(*aten._linalg_det(m), *aten._linalg_slogdet(m))
                            for m in (a, a.mT, a.mT.contiguous(), a + a.mT, a[:, :3, :3])],
       x(6, 4, 4)),
    op("det.singular", lambda a: linalg.det(a), lambda r: torch.ones(3, 3)),
]  # fmt: skip

spectra = [
    op("svdvals", linalg.svdvals, x(2, 5, 3)),
    op("svdvals.wide", linalg.svdvals, x(3, 7)),
    op("svdvals.large", linalg.svdvals, x(60, 40)),
    op("eigvalsh", lambda a: (linalg.eigvalsh(a), linalg.eigvalsh(a, "U")), x(2, 6, 6)),
    op("pinv", linalg.pinv, x(2, 5, 3), tolerance=CLOSE),
    op("pinv.singular", linalg.pinv, singular(4, 6), tolerance=CLOSE),
    op("pinv.hermitian", lambda a: linalg.pinv(a + a.mT + 20 * torch.eye(4), hermitian=True), x(4, 4), tolerance=CLOSE),
    op("vander", lambda a: (linalg.vander(a, N=5), linalg.vander(a[0, 0], N=3), torch.vander(a[0], 3)), x(3, 4)),
    op("matrix_rank", lambda a, b: (linalg.matrix_rank(a), linalg.matrix_rank(b)), singular(4, 4), x(3, 4)),
    op("cond", lambda a: tuple(linalg.cond(a, p) for p in (None, 1, float("inf"), "fro", "nuc", -2)), square(4, 4), tolerance=CLOSE),
    *(op(f"matrix_norm.{p}", lambda a, p=p: (linalg.matrix_norm(a, p), linalg.matrix_norm(a, p, (2, 0), True)), x(3, 4, 5))
      for p in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))),
    op("matrix_exp", torch.matrix_exp, x(3, 4, 4), tolerance=CLOSE),
    op("matrix_power", lambda a: (linalg.matrix_power(a, 5), linalg.matrix_power(a, 0), linalg.matrix_power(a, -2)), square(3, 3), tolerance=CLOSE),
]  # fmt: skip



def product(u, s, vh):
    """Vectors are unique up to a phase; what they multiply out to is."""
    k = s.shape[-1]
    return (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], s


def is_unitary(q):
    return (q.mH @ q - torch.eye(q.shape[-1])).abs().max() < 1e-4


def singular_parts(a):
    return (*product(*linalg.svd(a, full_matrices=False)), *product(*linalg.svd(a)), [is_unitary(q) for q in linalg.svd(a)[::2]])


def diagonal_parts(values, vectors, inverse):
    return (vectors * values.unsqueeze(-2)) @ inverse


def eigh_parts(a, uplo="L"):
    values, vectors = linalg.eigh(a, uplo)
    return values, diagonal_parts(values, vectors, vectors.mH)


def eig_parts(a):
    values, vectors = linalg.eig(a)
    return values.abs().sort().values, diagonal_parts(values, vectors, linalg.inv(vectors)), torch.linalg.norm(vectors, dim=-2)


def z(*shape: int) -> Make:
    return lambda random: torch.complex(x(*shape)(random), x(*shape)(random))


def z_square(*shape: int) -> Make:
    return lambda random: z(*shape)(random) + 6 * torch.eye(shape[-1])


def z_positive(*shape: int) -> Make:
    return lambda random: (a := z(*shape)(random)) @ a.mH + torch.eye(shape[-1])


vectors = [
    *(op(f"svd.{m}x{n}", singular_parts, x(2, m, n), tolerance=CLOSE) for m, n in ((4, 4), (5, 3), (3, 5))),
    op("svd.old", lambda a: product((r := torch.svd(a))[0], r[1], r[2].mH), x(5, 3), tolerance=CLOSE),
    op("eigh", lambda a: (eigh_parts(a + a.mT), eigh_parts(a, "U")), x(2, 5, 5), tolerance=CLOSE),
    op("eig", lambda a: (eig_parts(a), linalg.eigvals(a).abs().sort().values), x(3, 5, 5), tolerance=CLOSE),
    op("eig.large", lambda a: linalg.eigvals(a).abs().sort().values, x(40, 40), tolerance=CLOSE),
    op("eig.triangle", lambda a: (linalg.eigvals(a.tril()).real.sort().values, linalg.eigvals(a * 0).abs()), x(4, 4), tolerance=CLOSE),
    op("eig.cycle", lambda a: linalg.eigvals(torch.roll(a, 1, 0)).abs(), lambda r: torch.eye(4), tolerance=CLOSE),
]  # fmt: skip

complexes = [
    op("complex.cholesky", lambda a, b: (linalg.cholesky(a), linalg.cholesky(a, upper=True), torch.cholesky_solve(b, linalg.cholesky(a)), torch.cholesky_inverse(linalg.cholesky(a, upper=True), upper=True)), z_positive(2, 4, 4), z(2, 4, 3), tolerance=CLOSE),
    op("complex.lu", lambda a: (linalg.lu(a), linalg.lu_factor(a)), z(2, 4, 4)),
    *(op(f"complex.lu_solve.{left}.{adjoint}", lambda a, b, left=left, adjoint=adjoint: linalg.lu_solve(*linalg.lu_factor(a), b, left=left, adjoint=adjoint), z_square(3, 3), z(3, 3))
      for left in (True, False) for adjoint in (True, False)),
    op("complex.solve", lambda a, b: (linalg.solve(a, b), linalg.solve(a, b.mT, left=False), linalg.inv(a), torch.matrix_power(a, -2)), z_square(2, 4, 4), z(2, 4, 3)),
    op("complex.det", lambda a: (linalg.det(a), *linalg.slogdet(a), torch.logdet(a)), z(3, 4, 4), tolerance=CLOSE),
    *(op(f"complex.solve_triangular.{upper}.{left}", lambda a, b, upper=upper, left=left: linalg.solve_triangular(a, b, upper=upper, left=left), z_square(3, 3), z(3, 3))
      for upper in (True, False) for left in (True, False)),
    op("complex.qr", lambda a: (linalg.qr(a), linalg.qr(a.mT), linalg.qr(a, "complete"), torch.geqrf(a)), z(2, 5, 3), tolerance=CLOSE),
    op("complex.ormqr", lambda a, c: (torch.ormqr(*torch.geqrf(a), c), torch.ormqr(*torch.geqrf(a), c.mH, left=False, transpose=True)), z(5, 3), z(5, 2), tolerance=CLOSE),
    op("complex.ldl", lambda a, b: linalg.ldl_solve(*linalg.ldl_factor(a + a.mT), b), z(5, 5), z(5, 2), tolerance=CLOSE),
    op("complex.ldl.hermitian", lambda a, b: ((f := linalg.ldl_factor(a + a.mH, hermitian=True)), linalg.ldl_solve(*f, b, hermitian=True)), z(5, 5), z(5, 2), tolerance=CLOSE),
    op("complex.ldl.pairs", lambda a, b: linalg.ldl_solve(*linalg.ldl_factor(a - 10 * a.mH, hermitian=True), b, hermitian=True), lambda r: torch.tensor([[0, 0], [1 + 2j, 0]]), z(2, 2), tolerance=CLOSE),
    *(op(f"complex.svd.{m}x{n}", singular_parts, z(2, m, n), tolerance=CLOSE) for m, n in ((4, 4), (5, 3), (3, 5))),
    op("complex.svdvals", lambda a: (linalg.svdvals(a), linalg.matrix_norm(a, "nuc"), linalg.matrix_norm(a, 2), linalg.matrix_rank(a)), z(2, 5, 3), tolerance=CLOSE),
    op("complex.eigh", lambda a: (eigh_parts(a + a.mH), eigh_parts(a, "U"), linalg.eigvalsh(a)), z(2, 5, 5), tolerance=CLOSE),
    op("complex.eig", eig_parts, z(2, 5, 5), tolerance=CLOSE),
    op("complex.pinv", lambda a, h: (linalg.pinv(a), linalg.pinv(h, hermitian=True)), z(2, 5, 3), z_positive(3, 3), tolerance=CLOSE),
    op("complex.cond", lambda a: tuple(linalg.cond(a, p) for p in (None, 1, "fro", "nuc", -2)), z_square(4, 4), tolerance=CLOSE),
    op("complex.matrix_exp", lambda a: torch.matrix_exp(a / 4), z(3, 4, 4), tolerance=CLOSE),
]  # fmt: skip

ROWS = [*vectors, *complexes, *factors, *systems, *spectra]
