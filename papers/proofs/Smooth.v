(* The smooth sensitivity of 000, and the exponential mechanism that divides by it. *)
From Coq Require Import Reals Lra List.
From Discreet Require Import Sums Laws Exponential.
Import ListNotations.
Open Scope R_scope.

(* S(x) is the maximum over datasets y of 1 / (1/LS(y) + gamma d(x, y)). *)
Definition smooth_sensitivity {X} (d : X -> X -> R) (LS : X -> R) (gamma : R) (S : X -> R) :=
  forall x, maximum_over everything (fun y => / (/ LS y + gamma * d x y)) (S x).

Section Smooth.
Context {X : Type}.
Variables (adj : relation X) (d : X -> X -> R) (LS S : X -> R) (gamma : R).
Hypothesis d_metric : metric d.
Hypothesis steps : forall x y, adj x y -> d x y <= 1.
Hypothesis gamma_nonneg : 0 <= gamma.
Hypothesis LS_positive : forall x, 0 < LS x.
Hypothesis S_smooth : smooth_sensitivity d LS gamma S.

Let terms x y : 0 < / LS y + gamma * d x y.
Proof.
  pose proof (Rinv_0_lt_compat _ (LS_positive y)). pose proof (Rmult_le_pos _ _ gamma_nonneg (metric_nonneg d d_metric x y)). lra.
Qed.

Lemma smooth_positive x : 0 < S x.
Proof. destruct (S_smooth x) as [_ [y [_ e]]]. rewrite <- e. apply Rinv_0_lt_compat, terms. Qed.

Lemma local_below_smooth x : LS x <= S x.
Proof.
  destruct (S_smooth x) as [u _]. pose proof (u x I) as h. rewrite (distance_self d d_metric), Rmult_0_r, Rplus_0_r, Rinv_inv in h. exact h.
Qed.

(* 1/S(x) is the least of the terms. *)
Lemma inverse_below x y : / S x <= / LS y + gamma * d x y.
Proof.
  destruct (S_smooth x) as [u _]. rewrite <- (Rinv_inv (/ LS y + gamma * d x y)).
  apply Rinv_le_contravar; [apply Rinv_0_lt_compat, terms|apply u; exact I].
Qed.

(*| smooth_steps
The smooth sensitivity changes slowly. With $S(x) = \max_y 1 / (1/LS(y) + \gamma d(x, y))$, neighbours have $1/S(x) - 1/S(y) \le \gamma$.
papers: 000 Theorem 4.1
python: discreet.smooth_sensitivity
by hand: that a short walk finds the maximum ([sensitivities](../research/sensitivity.md)).
test: test_smooth_world
|*)
Theorem smooth_steps x y : adj x y -> / S x - / S y <= gamma.
Proof.
  intros n. destruct (S_smooth y) as [_ [z [_ e]]]. rewrite <- e, Rinv_inv.
  pose proof (inverse_below x z). pose proof (distance_triangle d d_metric x y z). pose proof (steps x y n).
  assert (gamma * d x z <= gamma * (1 + d y z)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Context {A : Type}.
Variables (candidates : list A) (listed : NoDup candidates) (complete : forall r, In r candidates) (one : A).
Variables (H : X -> A -> R) (B eps : R).
Hypothesis adj_symmetric : symmetric adj.
Hypothesis eps_nonneg : 0 <= eps.
Hypothesis H_bounded : forall x r, 0 <= H x r <= B.
Hypothesis H_local : forall x y r, adj x y -> Rabs (H x r - H y r) <= LS x.

Lemma smooth_step x y r : adj x y -> H y r / S y - H x r / S x <= 1 + gamma * B.
Proof.
  intros n. pose proof (smooth_positive x) as sx. pose proof (smooth_positive y) as sy. destruct (H_bounded y r) as [h0 hB].
  pose proof (smooth_steps y x (adj_symmetric x y n)) as g.
  replace (H y r / S y - H x r / S x) with (H y r * (/ S y - / S x) + (H y r - H x r) / S x) by (field; lra).
  assert (H y r * (/ S y - / S x) <= gamma * B).
  { apply Rle_trans with (H y r * gamma); [apply Rmult_le_compat_l; lra|]. rewrite Rmult_comm. apply Rmult_le_compat_l; lra. }
  assert ((H y r - H x r) / S x <= 1).
  { apply Rmult_le_reg_r with (S x); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra.
    pose proof (H_local x y r n). pose proof (local_below_smooth x). pose proof (Rle_abs (- (H x r - H y r))) as q. rewrite Rabs_Ropp in q. lra. }
  lra.
Qed.

(*| smooth_private
The mechanism that divides by the smooth sensitivity is $\varepsilon$-private. For a score with $0 \le H \le B$, $P_x(r) \propto e^{-\varepsilon H(x, r) / (2 (1 + \gamma B) S(x))}$ over finitely many candidates is $\varepsilon$-private.
papers: 000 Lemma 5.1, for any γ and any bound
python: HellingerSmooth
by hand: that `smooth_sensitivity(prior, counts, gamma=...)` finds S ([sensitivities](../research/sensitivity.md)).
test: test_smooth_world
|*)
Theorem smooth_private :
  private adj eps (exponential candidates listed complete one (fun x => eps / (2 * (1 + gamma * B) * S x)) H).
Proof.
  apply exponential_private_if; [exact adj_symmetric|]. intros x y r n. destruct (H_bounded x r) as [h0 hB].
  pose proof (smooth_positive x) as sx. pose proof (smooth_positive y) as sy.
  assert (b : 0 < 1 + gamma * B) by (pose proof (Rmult_le_pos gamma B gamma_nonneg); lra).
  replace (eps / (2 * (1 + gamma * B) * S y) * H y r - eps / (2 * (1 + gamma * B) * S x) * H x r)
    with (eps / (2 * (1 + gamma * B)) * (H y r / S y - H x r / S x)) by (field; lra).
  replace (eps / 2) with (eps / (2 * (1 + gamma * B)) * (1 + gamma * B)) by (field; lra).
  apply Rmult_le_compat_l; [|apply smooth_step, n]. apply Rmult_le_pos; [exact eps_nonneg|left; apply Rinv_0_lt_compat; lra].
Qed.
End Smooth.

(*| smooth_private_one
Lemma 5.1 as it is used. For a metric score $H(x, r) = D(p_x, r) \le 1$ with local sensitivities $LS > 0$ and their $\gamma$-smooth $S$, $P_x(r) \propto e^{-\varepsilon H(x, r) / (2 (1 + \gamma) S(x))}$ is $\varepsilon$-private; 000 has $\gamma = 1$, and so $4 S(x)$.
papers: 000 Lemma 5.1, Definition 4
python: HellingerSmooth
by hand: that `smooth_sensitivity(prior, counts, gamma=...)` finds S ([sensitivities](../research/sensitivity.md)).
erratum: The proof of 000 replaces H by 1 in front of 1/S(x') - 1/S(x), twice; that step fails where the difference is negative and H < 1. The bound that follows, γ, holds there too, and the Lemma is right. One line has ε/2 where it needs ε/4, and Definition 4 takes u = H where section 4.2.1 has u = -H.
test: test_smooth_world
|*)
Theorem smooth_private_one {X A} (adj : relation X) (d : X -> X -> R) (LS S : X -> R) (gamma eps : R) (D : A -> A -> R) (p : X -> A)
    (candidates : list A) (listed : NoDup candidates) (complete : forall r, In r candidates) (one : A) :
  symmetric adj -> metric d -> (forall x y, adj x y -> d x y <= 1) -> 0 <= gamma -> 0 <= eps ->
  metric D -> (forall a b, D a b <= 1) ->
  (forall x, local_sensitivity adj (fun x r => D (p x) r) x (LS x)) -> (forall x, 0 < LS x) -> smooth_sensitivity d LS gamma S ->
  private adj eps (exponential candidates listed complete one (fun x => eps / (2 * (1 + gamma) * S x)) (fun x r => D (p x) r)).
Proof.
  intros sym dm st g0 e0 Dm D1 loc L0 sm. rewrite <- (Rmult_1_r gamma).
  apply (smooth_private adj d LS S gamma dm st g0 L0); auto.
  - intros x r. split; [apply metric_nonneg, Dm|apply D1].
  - intros x y r n. destruct (loc x) as [u _]. apply (u (y, r)). exact n.
Qed.

(* The hypotheses can be met: a maximum over finitely many datasets exists. *)
Lemma maximum_exists {B} (all : list B) (f : B -> R) : all <> [] -> (forall b, In b all) -> exists m, maximum_over everything f m.
Proof.
  intros ne complete. assert (exists b, forall c, In c all -> f c <= f b) as [b h].
  { clear complete. induction all as [|a all IH]; [contradiction|]. destruct all as [|b all].
    - exists a. intros c [e|[]]. subst. lra.
    - destruct IH as [m h]; [discriminate|]. destruct (Rle_dec (f a) (f m)) as [le|gt].
      + exists m. intros c [e|i]; [subst; exact le|auto].
      + exists a. intros c [e|i]; [subst; lra|]. specialize (h c i). lra. }
  exists (f b). split; [intros c _; auto|]. exists b. split; [exact I|reflexivity].
Qed.
