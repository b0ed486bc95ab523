(* Small worlds in rationals, which Coq computes: the same formulas as in the theorems, with e^-eps = 1/2 where one is needed. *)
From Coq Require Import Reals Lra List ZArith QArith Qreals Qabs Lia.
From Discreet Require Import Sums Laws Exponential Smooth Composition Lattice Tables.
Import ListNotations.
Open Scope R_scope.

Fixpoint doubled (n : nat) : positive := match n with O => 1%positive | S m => xO (doubled m) end.
Definition half (n : nat) : Q := 1 # doubled n.

Lemma half_power n : Q2R (half n) = exp (- ln 2 * INR n).
Proof.
  rewrite (exp_power (ln 2)), exp_Ropp, exp_ln by lra. unfold half, Q2R. simpl. rewrite Rmult_1_l.
  induction n as [|n IH]; [simpl; apply Rinv_1|]. cbn [doubled]. rewrite <- tech_pow_Rmult, <- IH.
  replace (IZR (Z.pos (doubled n)~0)) with (2 * IZR (Z.pos (doubled n))) by (rewrite <- mult_IZR; f_equal). field.
  intros h. apply eq_IZR in h. lia.
Qed.

Lemma half_distance d : (0 <= d)%Z -> Q2R (half (Z.to_nat d)) = exp (- ln 2 * IZR d).
Proof. intros h. rewrite half_power, INR_IZR_INZ, Z2Nat.id by exact h. reflexivity. Qed.

Lemma half_is : exp (- ln 2) = / 2.
Proof. rewrite exp_Ropp, exp_ln by lra. reflexivity. Qed.

(* One count with noise, and independent counts. *)
Definition geometric_half (x z : Z) : Q := (1 # 3) * half (Z.to_nat (Z.abs (z - x))).
Definition floored_half (x z : Z) : Q := (1 # 4) * half (Z.to_nat (Z.max (z - x) (-1 - (z - x)))).
Fixpoint cells_half (one : Z -> Z -> Q) (x z : list Z) : Q :=
  match x, z with [], [] => 1 | a :: x', b :: z' => Qred (one a b * cells_half one x' z') | _, _ => 0 end.

Lemma geometric_half_is p x z : geometric (ln 2) p x z = Q2R (geometric_half x z).
Proof.
  unfold geometric_half. rewrite Q2R_mult, half_distance by lia. unfold geometric, normalised. cbn [mass]. unfold two_sided. f_equal.
  rewrite half_is. unfold Q2R. simpl. field.
Qed.

Lemma floored_half_is p x z : floored_laplace (ln 2) p x z = Q2R (floored_half x z).
Proof.
  unfold floored_half. rewrite Q2R_mult, half_distance by lia. unfold floored_laplace, normalised. cbn [mass]. unfold floored. f_equal.
  rewrite half_is. unfold Q2R. simpl. field.
Qed.

Lemma cells_half_is (M : Z -> law Z) one x z : (forall a b, M a b = Q2R (one a b)) -> each M x z = Q2R (cells_half one x z).
Proof.
  intros h. revert z. induction x as [|a x IH]; intros [|b z]; cbn [each mass first_then no_outcome cells_half];
    [unfold Q2R; simpl; field|unfold Q2R; simpl; field|unfold Q2R; simpl; field|].
  rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_mult, h, IH. reflexivity.
Qed.

Lemma lattice_weight_half x z : possible x z = true -> lattice_weight (2 * ln 2) x z = Q2R (half (Z.to_nat (distance x z))).
Proof.
  intros h. unfold lattice_weight, replaced. rewrite h, half_distance.
  - f_equal. field.
  - clear. revert z. induction x as [|a x IH]; intros [|b z]; simpl; try lia. specialize (IH z). lia.
Qed.

(* Local and smooth sensitivities, for scores in rationals. *)
Fixpoint largest (first : Q) (l : list Q) : Q := match l with [] => first | a :: l' => let b := largest first l' in if Qle_bool a b then b else a end.

Lemma largest_is first l : maximum_over (fun q => In q (first :: l)) Q2R (Q2R (largest first l)).
Proof.
  split.
  - intros q h. induction l as [|a l IH]; [destruct h as [e|[]]; subst; simpl; lra|]. simpl.
    destruct (Qle_bool a (largest first l)) eqn:e.
    + apply Qle_bool_iff, Qle_Rle in e. destruct h as [h|[h|h]]; [apply IH; left; exact h|subst; exact e|apply IH; right; exact h].
    + assert (Q2R (largest first l) <= Q2R a) as lt.
      { apply Qle_Rle. destruct (Qlt_le_dec a (largest first l)) as [c|c]; [|exact c]. apply Qlt_le_weak, Qle_bool_iff in c. congruence. }
      destruct h as [h|[h|h]]; [apply Rle_trans with (2 := lt), IH; left; exact h|subst; lra|apply Rle_trans with (2 := lt), IH; right; exact h].
  - exists (largest first l). split; [|reflexivity]. induction l as [|a l IH]; [left; reflexivity|]. simpl.
    destruct (Qle_bool a (largest first l)); [destruct IH as [h|h]; [left; exact h|right; right; exact h]|right; left; reflexivity].
Qed.

Definition changes (H : nat -> nat -> Q) (near candidates : list nat) (x : nat) : list Q :=
  flat_map (fun y => map (fun r => Qred (Qabs (H x r - H y r))) candidates) near.
Definition local_rational H near candidates x : Q := largest 0 (changes H near candidates x).

(* The rational local sensitivity is the real one, of a dataset that has a neighbour. *)
Lemma local_rational_is H near candidates x : near <> [] -> candidates <> [] ->
  maximum_over (fun yr => In (fst yr) near /\ In (snd yr) candidates) (fun yr => Rabs (Q2R (H x (snd yr)) - Q2R (H (fst yr) (snd yr))))
    (Q2R (local_rational H near candidates x)).
Proof.
  intros ne nc.
  assert (term : forall y r, Q2R (Qred (Qabs (H x r - H y r))) = Rabs (Q2R (H x r) - Q2R (H y r))).
  { intros y r. rewrite (Qeq_eqR _ _ (Qred_correct _)), <- Q2R_minus. apply Qabs_case; intros h; apply Qle_Rle in h;
      replace (Q2R 0) with 0 in h by (unfold Q2R; simpl; ring).
    - rewrite Rabs_pos_eq by exact h. reflexivity.
    - rewrite Rabs_left1 by exact h. apply Q2R_opp. }
  destruct (largest_is 0 (changes H near candidates x)) as [up [q [i e]]].
  assert (inside : forall y r, In y near -> In r candidates -> In (Qred (Qabs (H x r - H y r))) (changes H near candidates x)).
  { intros y r iy ir. unfold changes. apply in_flat_map. exists y. split; [exact iy|]. apply in_map_iff. exists r. auto. }
  split.
  - intros [y r] [iy ir]. simpl in *. rewrite <- term. apply up. right. auto.
  - unfold local_rational. destruct i as [i|i].
    + subst q. destruct near as [|y near], candidates as [|r candidates]; try congruence. exists (y, r). cbn [fst snd]. split; [split; left; reflexivity|].
      rewrite <- term. apply Rle_antisym; [apply up; right; apply inside; left; reflexivity|]. rewrite <- e, term.
      replace (Q2R 0) with 0 by (unfold Q2R; simpl; ring). apply Rabs_pos.
    + unfold changes in i. apply in_flat_map in i. destruct i as [y [iy i]]. apply in_map_iff in i. destruct i as [r [er ir]]. subst q.
      exists (y, r). cbn [fst snd]. split; [auto|]. rewrite <- term. exact e.
Qed.

(* 1 / (1/LS(y) + gamma d(x, y)) at its largest. *)
Definition smooth_rational (LS : nat -> Q) (d : nat -> nat -> Q) (gamma : Q) (datasets : list nat) (x : nat) : Q :=
  largest (LS x) (map (fun y => Qred (/ (/ LS y + gamma * d x y))) datasets).

Lemma smooth_rational_is LS d gamma datasets x : In x datasets -> (forall y, 0 < Q2R (LS y)) -> (0 <= gamma)%Q -> (forall y, (0 <= d x y)%Q) -> (d x x == 0)%Q ->
  maximum_over (fun y => In y datasets) (fun y => / (/ Q2R (LS y) + Q2R gamma * Q2R (d x y))) (Q2R (smooth_rational LS d gamma datasets x)).
Proof.
  intros ix pos g dp dx.
  assert (zero : Q2R 0 = 0) by (unfold Q2R; simpl; ring).
  assert (nz : forall y, ~ (LS y == 0)%Q) by (intros y h; apply Qeq_eqR in h; specialize (pos y); lra).
  assert (term : forall y, Q2R (Qred (/ (/ LS y + gamma * d x y))) = / (/ Q2R (LS y) + Q2R gamma * Q2R (d x y))).
  { intros y. rewrite (Qeq_eqR _ _ (Qred_correct _)). rewrite Q2R_inv.
    - rewrite Q2R_plus, Q2R_mult, Q2R_inv by apply nz. reflexivity.
    - intros h. apply Qeq_eqR in h. rewrite Q2R_plus, Q2R_mult, Q2R_inv in h by apply nz. rewrite zero in h.
      pose proof (Rinv_0_lt_compat _ (pos y)). apply Qle_Rle in g. pose proof (Qle_Rle _ _ (dp y)) as dy. rewrite zero in *.
      pose proof (Rmult_le_pos _ _ g dy). lra. }
  assert (self : Q2R (LS x) = / (/ Q2R (LS x) + Q2R gamma * Q2R (d x x))).
  { rewrite (Qeq_eqR _ _ dx), zero, Rmult_0_r, Rplus_0_r, Rinv_inv. reflexivity. }
  destruct (largest_is (LS x) (map (fun y => Qred (/ (/ LS y + gamma * d x y))) datasets)) as [up [q [i e]]]. split.
  - intros y iy. rewrite <- term. apply up. right. apply in_map_iff. exists y. auto.
  - unfold smooth_rational. destruct i as [i|i].
    + subst q. exists x. split; [exact ix|]. rewrite <- self. exact e.
    + apply in_map_iff in i. destruct i as [y [ey iy]]. subst q. exists y. split; [exact iy|]. rewrite <- term. exact e.
Qed.

(* The square of the affinity of two Dirichlet distributions with whole parameters whose middles are whole: B(middle)^2 / (B(alpha) B(beta)). *)
Fixpoint factorial (n : nat) : Z := match n with O => 1%Z | S m => (Z.of_nat n * factorial m)%Z end.
Definition beta_whole (alpha : list nat) : Q :=
  (inject_Z (fold_right Z.mul 1%Z (map (fun a => factorial (a - 1)) alpha)) / inject_Z (factorial (fold_right plus 0%nat alpha - 1)))%Q.
Fixpoint middle_whole (alpha alpha' : list nat) : list nat :=
  match alpha, alpha' with a :: l, b :: l' => Nat.div2 (a + b) :: middle_whole l l' | _, _ => [] end.
Definition affinity_squared (alpha alpha' : list nat) : Q :=
  let m := beta_whole (middle_whole alpha alpha') in Qred (m * m / (beta_whole alpha * beta_whole alpha'))%Q.

(* What delta is multiplied by for several steps, with e^eps = e. *)
Fixpoint grown_rational (e : Q) (t : nat) : Q := match t with O => 0 | S t' => Qred (1 + e * grown_rational e t') end.
Lemma grown_rational_is eps e t : exp eps = Q2R e -> grown eps t = Q2R (grown_rational e t).
Proof.
  intros h. induction t as [|t IH]; cbn [grown grown_rational]; [unfold Q2R; simpl; ring|].
  rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus, Q2R_mult, <- h, <- IH. unfold Q2R at 1. simpl. field.
Qed.
