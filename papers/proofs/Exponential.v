(* The exponential mechanism over a finite set of candidates. *)
From Coq Require Import Reals Lra List.
From Discreet Require Import Sums Laws.
Import ListNotations.
Open Scope R_scope.

(* Weights whose ratio between neighbours is at most e^c lose c by the weight and c by the normaliser. *)
Lemma ratio_of_normalised c u v z t :
  0 < z -> 0 < t -> 0 <= v -> u <= exp c * v -> t <= exp c * z -> / z * u <= exp (c + c) * (/ t * v).
Proof.
  intros z0 t0 v0 uv tz. rewrite exp_plus. pose proof (exp_pos c) as e.
  assert (iz : 0 < / z) by (apply Rinv_0_lt_compat; lra). assert (it : 0 < / t) by (apply Rinv_0_lt_compat; lra).
  assert (inv : / z <= exp c * / t).
  { apply Rmult_le_reg_r with z; [lra|]. rewrite Rinv_l by lra. apply Rmult_le_reg_r with t; [lra|].
    replace (exp c * / t * z * t) with (exp c * z) by (field; lra). lra. }
  apply Rle_trans with (/ z * (exp c * v)); [apply Rmult_le_compat_l; lra|].
  apply Rle_trans with (exp c * / t * (exp c * v)); [|right; ring].
  apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|exact inv].
Qed.

Section Mechanism.
Context {X A : Type}.
Variables (candidates : list A) (listed : NoDup candidates) (complete : forall r, In r candidates) (one : A).

Definition weight (rate : R) (H : A -> R) (r : A) := exp (- rate * H r).

Lemma weight_nonneg rate H : nonneg (weight rate H).
Proof. intros r. left. apply exp_pos. Qed.

Lemma weight_total rate H : 0 < sum (weight rate H) candidates.
Proof.
  apply Rlt_le_trans with (weight rate H one); [apply exp_pos|]. replace (weight rate H one) with (sum (weight rate H) [one]) by (simpl; ring).
  apply sum_incl; [apply weight_nonneg|constructor; [simpl; tauto|constructor]|]. intros r _. apply complete.
Qed.

(* A candidate r has probability proportional to e^(- rate x * H x r). *)
Definition exponential (rate : X -> R) (H : X -> A -> R) (x : X) : law A :=
  normalised (weight (rate x) (H x)) (sum (weight (rate x) (H x)) candidates) (weight_nonneg _ _)
    (sums_listed _ _ (weight_nonneg _ _) listed complete) (weight_total _ _).

Lemma exponential_private_if adj (rate : X -> R) (H : X -> A -> R) eps :
  symmetric adj -> (forall x y r, adj x y -> rate y * H y r - rate x * H x r <= eps / 2) -> private adj eps (exponential rate H).
Proof.
  intros sym le. apply private_pointwise. intros x y n r. replace (exp eps) with (exp (eps / 2 + eps / 2)) by (f_equal; lra).
  assert (W : forall x y r, adj x y -> weight (rate x) (H x) r <= exp (eps / 2) * weight (rate y) (H y) r).
  { intros x' y' r' n'. unfold weight. rewrite <- exp_plus. apply exp_le. pose proof (le x' y' r' n'). lra. }
  apply ratio_of_normalised; try apply weight_total; [apply weight_nonneg|auto|].
  rewrite <- sum_scale. apply sum_le. intros r' _. apply W, sym, n.
Qed.

Definition sensitivity_at_most (adj : relation X) (H : X -> A -> R) (Delta : R) :=
  forall x y r, adj x y -> Rabs (H x r - H y r) <= Delta.

(*| exponential_private
The exponential mechanism is $\varepsilon$-private. If $|H(x, r) - H(y, r)| \le \Delta$ for all neighbours $x, y$ and candidates $r$, then $P_x(r) \propto e^{-\varepsilon H(x, r) / (2 \Delta)}$ over finitely many candidates has $P_x(E) \le e^\varepsilon P_y(E)$ for every event $E$.
papers: 002 section 1.1.2, 000 section 4.2.1
python: HellingerGlobal
by hand: that `global_sensitivity(prior, n)` is at least Δ ([sensitivities](../research/sensitivity.md)).
erratum: 002 has r' for r in the two numerators of its first display; the argument is right.
test: test_exponential_world
|*)
Theorem exponential_private (adj : relation X) (H : X -> A -> R) (Delta eps : R) :
  symmetric adj -> 0 < Delta -> 0 <= eps -> sensitivity_at_most adj H Delta ->
  private adj eps (exponential (fun _ => eps / (2 * Delta)) H).
Proof.
  intros sym d0 e0 sens. apply exponential_private_if; [exact sym|]. intros x y r n.
  pose proof (sens x y r n) as s. pose proof (Rle_abs (- (H x r - H y r))) as m. rewrite Rabs_Ropp in m.
  replace (eps / (2 * Delta) * H y r - eps / (2 * Delta) * H x r) with (eps / (2 * Delta) * (H y r - H x r)) by ring.
  replace (eps / 2) with (eps / (2 * Delta) * Delta) by (field; lra).
  apply Rmult_le_compat_l; [|lra]. apply Rmult_le_pos; [exact e0|left; apply Rinv_0_lt_compat; lra].
Qed.
End Mechanism.

(* The largest value of f over a set. *)
Definition maximum_over {B} (E : B -> Prop) (f : B -> R) (m : R) := (forall b, E b -> f b <= m) /\ exists b, E b /\ f b = m.

(* The local sensitivity at x: how far a score can change by one step from x. *)
Definition local_sensitivity {X A} (adj : relation X) (H : X -> A -> R) (x : X) (s : R) :=
  maximum_over (fun yr => adj x (fst yr)) (fun yr => Rabs (H x (snd yr) - H (fst yr) (snd yr))) s.

Record metric {A} (D : A -> A -> R) := {
  distance_self : forall a, D a a = 0;
  distance_symmetric : forall a b, D a b = D b a;
  distance_triangle : forall a b c, D a c <= D a b + D b c }.

Lemma metric_nonneg {A} (D : A -> A -> R) : metric D -> forall a b, 0 <= D a b.
Proof. intros m a b. pose proof (distance_triangle D m a b a). rewrite (distance_symmetric D m b a), (distance_self D m) in H. lra. Qed.

(*| local_sensitivity_reached
The local sensitivity of a metric score is reached at the candidate of $x$ itself. If $H(x, r) = D(p_x, r)$ with a metric $D$, and every $p_x$ is a candidate, then $\max_{y \sim x,\, r} |H(x, r) - H(y, r)| = \max_{y \sim x} D(p_x, p_y)$: one side is a maximum if the other is.
papers: 000 section 7.1
python: discreet.local_sensitivity
by hand: the closed form of the distance to a neighbour ([sensitivities](../research/sensitivity.md)); that it is a metric is `hellinger_metric`.
test: test_local_sensitivity_world
|*)
Theorem local_sensitivity_reached {X A} (adj : relation X) (D : A -> A -> R) (p : X -> A) (x : X) (s : R) :
  metric D ->
  (local_sensitivity adj (fun x r => D (p x) r) x s <-> maximum_over (fun y => adj x y) (fun y => D (p x) (p y)) s).
Proof.
  intros m.
  assert (le : forall y r, Rabs (D (p x) r - D (p y) r) <= D (p x) (p y)).
  { intros y r. pose proof (distance_triangle D m (p x) (p y) r). pose proof (distance_triangle D m (p y) (p x) r).
    rewrite (distance_symmetric D m (p y) (p x)) in H0. apply Rabs_le. lra. }
  assert (at_x : forall y, Rabs (D (p x) (p x) - D (p y) (p x)) = D (p x) (p y)).
  { intros y. rewrite (distance_self D m), (distance_symmetric D m (p y)). pose proof (metric_nonneg D m (p x) (p y)).
    rewrite Rabs_left1 by lra. ring. }
  split; intros [u [w [n e]]]; split.
  - intros y ny. rewrite <- at_x. apply (u (y, p x)). exact ny.
  - destruct w as [y r]. simpl in *. exists y. split; [exact n|]. apply Rle_antisym; [|rewrite <- e; apply le].
    rewrite <- at_x. apply (u (y, p x)). exact n.
  - intros [y r] ny. simpl in *. apply Rle_trans with (1 := le y r). auto.
  - exists (w, p x). simpl. split; [exact n|]. rewrite at_x. exact e.
Qed.

(* Three datasets in a row; the first two are close to each other. *)
Inductive three := Left | Middle | Right.
Definition all_three := [Left; Middle; Right].
Lemma three_listed : NoDup all_three.
Proof. repeat constructor; simpl; intuition congruence. Qed.
Lemma three_complete r : In r all_three.
Proof. destruct r; simpl; auto. Qed.

Definition beside : relation three := fun x y => match x, y with Left, Middle | Middle, Left | Middle, Right | Right, Middle => True | _, _ => False end.
Definition apart (s : R) (x y : three) : R :=
  match x, y with Left, Left | Middle, Middle | Right, Right => 0 | Left, Middle | Middle, Left => s | _, _ => 1 end.
Definition local_of (s : R) (x : three) : R := match x with Left => s | _ => 1 end.

Lemma apart_metric s : 0 <= s <= 1 -> metric (apart s).
Proof. intros h. split; intros; repeat match goal with a : three |- _ => destruct a end; simpl; lra. Qed.

Lemma apart_local s x : 0 <= s <= 1 -> local_sensitivity beside (apart s) x (local_of s x).
Proof.
  intros h. apply (local_sensitivity_reached beside (apart s) (fun x => x) x (local_of s x) (apart_metric s h)). split.
  - intros y n. destruct x, y; simpl in *; try lra; contradiction.
  - destruct x; [exists Middle|exists Right|exists Middle]; simpl; split; auto.
Qed.

(*| local_not_private
With the local sensitivity in the place of the global one nothing is promised. For every $\varepsilon > 0$ and every bound $c$ there is a world of three datasets with a metric score $H \le 1$ and local sensitivities $LS > 0$ for which $P_x(r) \propto e^{-\varepsilon H(x, r) / (2\, LS(x))}$ is not $c$-private.
papers: 000 section 5.2.2, 002 section 1.2.2
python: HellingerLocal
by hand: nothing; how much the mechanism loses for Dirichlet posteriors is [computed](../explain/privacy.md).
erratum: The proof in 002 does not go through ([errata](../research/reproduction.md#errata-of-the-papers)); the claim is right.
test: test_local_world
|*)
Theorem local_not_private (eps c : R) : 0 < eps ->
  exists D LS, metric D /\ (forall x r, 0 <= D x r <= 1) /\ (forall x, 0 < LS x) /\ (forall x, local_sensitivity beside D x (LS x)) /\
    ~ private beside c (exponential all_three three_listed three_complete Left (fun x => eps / (2 * LS x)) D).
Proof.
  intros e0. set (K := Rabs c + eps / 2 + 3).
  assert (K0 : 0 < K) by (unfold K; pose proof (Rabs_pos c); lra).
  set (s := eps / (2 * K)).
  assert (s0 : 0 < s) by (unfold s; apply Rdiv_lt_0_compat; lra).
  assert (s1 : s <= 1).
  { unfold s. apply Rmult_le_reg_r with (2 * K); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. unfold K. pose proof (Rabs_pos c). lra. }
  exists (apart s), (local_of s). split; [apply apart_metric; lra|]. split; [intros [] []; simpl; lra|].
  split; [intros []; simpl; lra|]. split; [intros x; apply apart_local; lra|].
  intros h. rewrite private_pointwise in h. specialize (h Middle Left I Right). simpl in h. unfold weight in h. simpl in h.
  replace (- (eps / (2 * s)) * 1) with (- K) in h by (unfold s; field; lra).
  rewrite !Rmult_0_r, exp_0, !Rplus_0_r in h. replace (2 * 1) with 2 in h by ring.
  set (E := exp (- (eps / 2) * 1)) in h. set (F := exp (- (eps / 2) * s)) in h. set (G := exp (- (eps / (2 * s)) * s)) in h.
  assert (E0 : E = exp (- (eps / 2))) by (unfold E; f_equal; field).
  assert (E1 : 0 < E <= 1) by (split; [apply exp_pos|rewrite E0, <- exp_0; apply exp_le; lra]).
  assert (F1 : 0 < F <= 1).
  { split; [apply exp_pos|]. unfold F. rewrite <- exp_0. apply exp_le. rewrite Ropp_mult_distr_l_reverse.
    assert (0 <= eps / 2 * s); [apply Rmult_le_pos; lra|lra]. }
  assert (G1 : 0 < G) by apply exp_pos. pose proof (exp_pos (- K)) as X1.
  (* Left is at most its weight, Middle is at least a third of it *)
  assert (up : / (1 + (G + exp (- K))) * exp (- K) <= exp (- K)).
  { rewrite <- (Rmult_1_l (exp (- K))) at 3. apply Rmult_le_compat_r; [lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  assert (lo : E / 3 <= / (F + (1 + E)) * E).
  { unfold Rdiv. rewrite Rmult_comm. apply Rmult_le_compat_r; [lra|]. apply Rinv_le_contravar; lra. }
  assert (ec : 0 < exp c) by apply exp_pos.
  assert (q : E / 3 <= exp c * exp (- K)).
  { apply Rle_trans with (1 := lo). apply Rle_trans with (1 := h). apply Rmult_le_compat_l; lra. }
  rewrite <- exp_plus in q. rewrite E0 in q.
  assert (exp (c + - K) <= exp (- (eps / 2) + Ropp 3)) as r by (apply exp_le; unfold K; pose proof (Rle_abs c); lra).
  rewrite (exp_plus (- (eps / 2)) (Ropp 3)) in r. pose proof (exp_pos (- (eps / 2))) as p.
  assert (exp (Ropp 3) < / 3).
  { rewrite exp_Ropp. apply Rinv_lt_contravar; [apply Rmult_lt_0_compat; [lra|apply exp_pos]|]. assert (1 + 3 < exp 3) by (apply exp_ineq1; lra). lra. }
  assert (exp (- (eps / 2)) * exp (Ropp 3) < exp (- (eps / 2)) * / 3) by (apply Rmult_lt_compat_l; lra). lra.
Qed.
