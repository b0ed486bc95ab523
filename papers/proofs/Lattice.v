(* Noise on whole numbers: one count, independent counts, counts with a fixed total, and tables of such. *)
From Coq Require Import Reals Lra List ZArith Lia.
From Discreet Require Import Sums Laws Composition.
Import ListNotations.
Open Scope R_scope.

(*| lattice_private
Noise by distance loses no factor 2 where the normaliser is the same for all datasets. If $P_x(z) = e^{-\varepsilon d(x, z)} / Z_x$ on a set of outcomes that neighbours share, $Z_x = Z_y$ for neighbours, and one step changes $d(\cdot, z)$ by at most 1, then $P$ is $\varepsilon$-private.
papers: none
python: LatticeGeometric
by hand: nothing.
test: test_lattice_world
|*)
Theorem lattice_private {X A} (adj : relation X) (eps : R) (Z : X -> R) (d : X -> A -> R) (possible : X -> A -> bool)
    (w := fun x z => if possible x z then exp (- eps * d x z) else 0)
    (w_nonneg : forall x, nonneg (w x)) (total : forall x, sums (w x) (Z x)) (Z_positive : forall x, 0 < Z x) :
  0 <= eps -> (forall x y, adj x y -> Z x = Z y) -> (forall x y z, adj x y -> possible x z = possible y z) ->
  (forall x y z, adj x y -> possible x z = true -> d y z <= d x z + 1) ->
  private adj eps (fun x => normalised (w x) (Z x) (w_nonneg x) (total x) (Z_positive x)).
Proof.
  intros e0 equal same step. apply private_pointwise. intros x y n z. simpl. rewrite (equal x y n).
  replace (exp eps * (/ Z y * w y z)) with (/ Z y * (exp eps * w y z)) by ring.
  apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat, Z_positive|]. unfold w. rewrite <- (same x y z n).
  destruct (possible x z) eqn:p; [|lra].
  rewrite <- exp_plus. apply exp_le. pose proof (Rmult_le_compat_l eps _ _ e0 (step x y z n p)). lra.
Qed.

(* Sums over a set that finite lists exhaust. *)
Lemma sums_exhausted {A} (f : A -> R) (L : nat -> list A) s :
  nonneg f -> (forall n, NoDup (L n)) -> (forall n, incl (L n) (L (S n))) -> (forall a, exists n, In a (L n)) ->
  (forall n, sum f (L n) <= s) -> (forall e, 0 < e -> exists n, s - e < sum f (L n)) -> sums f s.
Proof.
  intros p nd up all le close.
  assert (mono : forall n m, incl (L n) (L (m + n)%nat)).
  { intros n m. induction m as [|m IH]; simpl; [apply incl_refl|]. apply incl_tran with (1 := IH). apply up. }
  apply sum_over_intro.
  - intros l n _. assert (exists m, incl l (L m)) as [m i].
    { clear n. induction l as [|a l [m i]]; [exists O; intros b []|]. destruct (all a) as [k q].
      exists (m + k)%nat. intros b [e|h]; [subst; apply (mono k m); exact q|]. rewrite Nat.add_comm. apply (mono m k), i, h. }
    apply Rle_trans with (sum f (L m)); [apply sum_incl; auto|apply le].
  - intros t b. destruct (Rle_dec s t) as [h|h]; [exact h|]. destruct (close (s - t)) as [n q]; [lra|].
    pose proof (b (L n) (nd n)) as r. unfold everything in r. specialize (r (fun _ _ => I)). lra.
Qed.

Section One_count.
Variable s : R.
Hypothesis s_positive : 0 < s.
Let q := exp (- s).
Let q_range : 0 < q < 1.
Proof. unfold q. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. lra. Qed.

Lemma exp_power n : exp (- s * INR n) = q ^ n.
Proof.
  induction n as [|n IH]; [simpl; rewrite Rmult_0_r; apply exp_0|].
  rewrite S_INR, Rmult_plus_distr_l, exp_plus, IH, Rmult_1_r. simpl. fold q. ring.
Qed.

Lemma power_small e : 0 < e -> exists n, q ^ n < e.
Proof.
  intros e0. destruct (pow_lt_1_zero q) with (y := e) as [n h]; [rewrite Rabs_pos_eq; lra|exact e0|].
  exists n. specialize (h n (le_n n)). rewrite Rabs_pos_eq in h; [exact h|]. apply pow_le. lra.
Qed.

(* The two-sided geometric weights q^|t|. *)
Definition two_sided (t : Z) : R := exp (- s * IZR (Z.abs t)).
Fixpoint near (n : nat) : list Z := match n with O => [0%Z] | S m => (Z.of_nat (S m)) :: (- Z.of_nat (S m))%Z :: near m end.

Lemma in_near n t : In t (near n) <-> (Z.abs t <= Z.of_nat n)%Z.
Proof.
  induction n as [|n IH]; [simpl; lia|]. cbn [near In]. rewrite IH. lia.
Qed.

Lemma near_sum n : sum two_sided (near n) = (1 + q - 2 * q ^ S n) / (1 - q).
Proof.
  induction n as [|n IH].
  - simpl. unfold two_sided. simpl. rewrite Rmult_0_r, exp_0. field. lra.
  - cbn [near sum]. rewrite IH. unfold two_sided. rewrite Z.abs_opp, Z.abs_eq, <- INR_IZR_INZ, exp_power by lia. simpl. field. lra.
Qed.

Lemma two_sided_nonneg : nonneg two_sided.
Proof. intros t. left. apply exp_pos. Qed.

Lemma two_sided_total : sums two_sided ((1 + q) / (1 - q)).
Proof.
  assert (i : 0 < / (1 - q)) by (apply Rinv_0_lt_compat; lra).
  apply (sums_exhausted _ near); [apply two_sided_nonneg| | | | |].
  - intros n. induction n as [|n IH]; [repeat constructor; simpl; tauto|]. cbn [near].
    constructor; [|constructor; [|exact IH]]; [intros [h|h]|intros h]; try (apply in_near in h); lia.
  - intros n t h. apply in_near. apply in_near in h. lia.
  - intros t. exists (Z.abs_nat t). apply in_near. lia.
  - intros n. rewrite near_sum. apply Rmult_le_compat_r; [lra|]. pose proof (pow_le q (S n)). lra.
  - intros e e0. destruct (power_small (e * (1 - q) / 2)) as [n h]; [apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; lra|].
    exists n. rewrite near_sum. assert (q ^ S n < e * (1 - q) / 2).
    { apply Rle_lt_trans with (2 := h). simpl. rewrite <- (Rmult_1_l (q ^ n)) at 2. apply Rmult_le_compat_r; [apply pow_le|]; lra. }
    apply Rmult_lt_reg_r with (1 - q); [lra|].
    replace ((1 + q - 2 * q ^ S n) / (1 - q) * (1 - q)) with (1 + q - 2 * q ^ S n) by (field; lra).
    replace (((1 + q) / (1 - q) - e) * (1 - q)) with (1 + q - e * (1 - q)) by (field; lra). lra.
Qed.

(* The weights q^t of t >= 0 and q^(-1-t) of t < 0: Laplace noise of scale 1/s, rounded down. *)
Definition floored (t : Z) : R := exp (- s * IZR (Z.max t (-1 - t))).
Fixpoint around (n : nat) : list Z := match n with O => [] | S m => (Z.of_nat m) :: (-1 - Z.of_nat m)%Z :: around m end.

Lemma in_around n t : In t (around n) <-> (Z.max t (-1 - t) < Z.of_nat n)%Z.
Proof. induction n as [|n IH]; cbn [around In]; [lia|rewrite IH; lia]. Qed.

Lemma around_sum n : sum floored (around n) = 2 * (1 - q ^ n) / (1 - q).
Proof.
  induction n as [|n IH]; [simpl; field; lra|]. cbn [around sum]. rewrite IH. unfold floored.
  rewrite Z.max_l by lia. rewrite Z.max_r by lia. replace (-1 - (-1 - Z.of_nat n))%Z with (Z.of_nat n) by ring.
  rewrite <- INR_IZR_INZ, exp_power. simpl. field. lra.
Qed.

Lemma floored_nonneg : nonneg floored.
Proof. intros t. left. apply exp_pos. Qed.

Lemma floored_total : sums floored (2 / (1 - q)).
Proof.
  assert (i : 0 < / (1 - q)) by (apply Rinv_0_lt_compat; lra).
  apply (sums_exhausted _ around); [apply floored_nonneg| | | | |].
  - intros n. induction n as [|n IH]; [constructor|]. cbn [around].
    constructor; [|constructor; [|exact IH]]; [intros [h|h]|intros h]; try (apply in_around in h); lia.
  - intros n t h. apply in_around. apply in_around in h. lia.
  - intros t. exists (S (Z.abs_nat t)). apply in_around. lia.
  - intros n. rewrite around_sum. apply Rmult_le_compat_r; [lra|]. pose proof (pow_le q n). lra.
  - intros e e0. destruct (power_small (e * (1 - q) / 2)) as [n h]; [apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; lra|].
    exists n. rewrite around_sum. apply Rmult_lt_reg_r with (1 - q); [lra|].
    replace (2 * (1 - q ^ n) / (1 - q) * (1 - q)) with (2 * (1 - q ^ n)) by (field; lra).
    replace ((2 / (1 - q) - e) * (1 - q)) with (2 - e * (1 - q)) by (field; lra). lra.
Qed.

(* Weights around x instead of 0. *)
Lemma shifted (f : Z -> R) total (x : Z) : sums f total -> sums (fun z => f (z - x)%Z) total.
Proof.
  apply (sum_over_bijection (fun t => (t + x)%Z) everything everything).
  - intros; exact I.
  - intros a b _ _ e. lia.
  - intros b _. exists (b - x)%Z. split; [exact I|ring].
  - intros a _. f_equal. ring.
Qed.

Let two_sided_pos : 0 < (1 + q) / (1 - q).
Proof. apply Rdiv_lt_0_compat; lra. Qed.
Let floored_pos : 0 < 2 / (1 - q).
Proof. apply Rdiv_lt_0_compat; lra. Qed.

(* One count with noise: P(z) = (1 - q)/(1 + q) q^|z - x|, and P(z) = (1 - q)/2 q^max(z - x, x - z - 1), q = e^-s. *)
Definition geometric (x : Z) : law Z :=
  normalised (fun z => two_sided (z - x)) _ (fun z => two_sided_nonneg _) (shifted _ _ x two_sided_total) two_sided_pos.
Definition floored_laplace (x : Z) : law Z :=
  normalised (fun z => floored (z - x)) _ (fun z => floored_nonneg _) (shifted _ _ x floored_total) floored_pos.

Definition one_more_or_less : relation Z := fun x y => (y = x + 1 \/ y = x - 1)%Z.

Lemma by_exponent (f : Z -> Z) z t : (f t <= f z + 1)%Z -> exp (- s * IZR (f z)) <= exp s * exp (- s * IZR (f t)).
Proof.
  intros h. rewrite <- exp_plus. apply exp_le. apply IZR_le in h. rewrite plus_IZR in h.
  pose proof (Rmult_le_compat_l s _ _ (Rlt_le _ _ s_positive) h). lra.
Qed.

Lemma geometric_private : private one_more_or_less s geometric.
Proof.
  apply private_pointwise. intros x y n z. simpl. rewrite <- Rmult_assoc, (Rmult_comm (exp s)), Rmult_assoc.
  apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat, two_sided_pos|]. apply (by_exponent Z.abs). destruct n; lia.
Qed.

Lemma floored_laplace_private : private one_more_or_less s floored_laplace.
Proof.
  apply private_pointwise. intros x y n z. simpl. rewrite <- Rmult_assoc, (Rmult_comm (exp s)), Rmult_assoc.
  apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat, floored_pos|].
  apply (by_exponent (fun t => Z.max t (-1 - t))). destruct n; lia.
Qed.
End One_count.
