(* Laws on any set, the probability of an event, and differential privacy. *)
From Coq Require Import Reals Lra List ClassicalDedekindReals Classical_Prop.
From Discreet Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Record law (A : Type) := Law { mass :> A -> R; mass_nonneg : nonneg mass; mass_total : sums mass 1 }.
Arguments mass {A}. Arguments mass_nonneg {A}. Arguments mass_total {A}. Arguments Law {A}.

Lemma event_sum {A} (p : law A) (E : A -> Prop) : {s | sum_over E p s}.
Proof.
  apply (sum_over_exists E p 1). intros l n i. apply (sum_over_bound _ _ _ l (mass_total p) n). unfold everything; auto.
Qed.

(* The probability of an event. *)
Definition Pr {A} (p : law A) (E : A -> Prop) : R := let s : {s | sum_over E p s} := event_sum p E in proj1_sig s.
Lemma Pr_sum {A} (p : law A) E : sum_over E p (Pr p E).
Proof. exact (proj2_sig (event_sum p E)). Qed.

Lemma Pr_le_1 {A} (p : law A) E : Pr p E <= 1.
Proof. apply (sum_over_subset E everything p _ _ (Pr_sum p E) (mass_total p)). unfold everything; auto. Qed.
Lemma Pr_nonneg {A} (p : law A) E : 0 <= Pr p E.
Proof. apply (sum_over_nonneg _ _ _ (Pr_sum p E)). Qed.
Lemma Pr_everything {A} (p : law A) : Pr p everything = 1.
Proof. apply (sum_over_unique _ _ _ _ (Pr_sum p everything) (mass_total p)). Qed.
Lemma Pr_one {A} (p : law A) a : Pr p (fun b => b = a) = p a.
Proof. apply (sum_over_unique _ _ _ _ (Pr_sum p _)). apply sum_over_single, mass_nonneg. Qed.

Lemma mass_le_1 {A} (p : law A) a : p a <= 1.
Proof. rewrite <- Pr_one. apply Pr_le_1. Qed.

(* A mechanism gives every dataset a law of outcomes. It is (eps, delta)-private if no event is much more probable under a neighbour. *)
Definition relation (X : Type) := X -> X -> Prop.
Definition symmetric {X} (adj : relation X) := forall x y, adj x y -> adj y x.
Definition approximately_private {X A} (adj : relation X) (eps delta : R) (M : X -> law A) :=
  forall x y, adj x y -> forall E, Pr (M x) E <= exp eps * Pr (M y) E + delta.
Definition private {X A} (adj : relation X) (eps : R) (M : X -> law A) :=
  forall x y, adj x y -> forall E, Pr (M x) E <= exp eps * Pr (M y) E.

Lemma private_approximately {X A} adj eps (M : X -> law A) : private adj eps M <-> approximately_private adj eps 0 M.
Proof. split; intros h x y a E; specialize (h x y a E); lra. Qed.

Lemma Pr_ratio {A} (p q : law A) c : 0 <= c -> (forall a, p a <= c * q a) -> forall E, Pr p E <= c * Pr q E.
Proof.
  intros c0 h E. apply (sum_over_le E p (fun a => c * q a) _ _ (Pr_sum p E)); [|auto].
  apply sum_over_scale; [exact c0|apply Pr_sum].
Qed.

(* For eps-privacy outcomes are enough. *)
Lemma private_pointwise {X A} adj eps (M : X -> law A) :
  private adj eps M <-> forall x y, adj x y -> forall a, M x a <= exp eps * M y a.
Proof.
  split; intros h x y n.
  - intros a. rewrite <- !Pr_one. apply h, n.
  - apply Pr_ratio; [left; apply exp_pos|apply h, n].
Qed.

Lemma exp_le u v : u <= v -> exp u <= exp v.
Proof. intros [h|h]; [left; apply exp_increasing; exact h|subst; apply Rle_refl]. Qed.

Lemma private_weaken {X A} adj eps eps' (M : X -> law A) : eps <= eps' -> private adj eps M -> private adj eps' M.
Proof.
  intros le h x y a E. apply Rle_trans with (1 := h x y a E). apply Rmult_le_compat_r; [apply Pr_nonneg|apply exp_le, le].
Qed.

(* The law with given weights, and its normaliser. *)
Program Definition normalised {A} (w : A -> R) (Z : R) (w_nonneg : nonneg w) (total : sums w Z) (Z_pos : 0 < Z) : law A :=
  {| mass := fun a => / Z * w a |}.
Next Obligation. intros a. apply Rmult_le_pos; [left; apply Rinv_0_lt_compat; assumption|auto]. Qed.
Next Obligation. rewrite <- (Rinv_l Z) by lra. apply sum_over_scale; [left; apply Rinv_0_lt_compat; assumption|assumption]. Qed.

(* The law of one certain outcome, needed where nothing is drawn. *)
Program Definition certain {A} (equal : forall a b : A, {a = b} + {a <> b}) (a : A) : law A :=
  {| mass := fun b => if equal b a then 1 else 0 |}.
Next Obligation. intros b. destruct (equal b a); lra. Qed.
Next Obligation.
  apply (sum_over_support (fun b => b = a)).
  - intros b. destruct (equal b a); lra.
  - intros b n. destruct (equal b a); [contradiction|reflexivity].
  - pose proof (sum_over_single (fun b => if equal b a then 1 else 0) a) as h. cbv beta in h.
    destruct (equal a a); [|congruence]. apply h. intros b. destruct (equal b a); lra.
Qed.

(* The law of a function of an outcome. *)
Program Definition image {A B} (g : A -> B) (p : law A) : law B := {| mass := fun b => Pr p (fun a => g a = b) |}.
Next Obligation. intros b. apply Pr_nonneg. Qed.
Next Obligation. apply (sums_of_parts p g); [intros b; apply Pr_sum|apply mass_total]. Qed.

Lemma Pr_image {A B} (g : A -> B) (p : law A) E : Pr (image g p) E = Pr p (fun a => E (g a)).
Proof.
  apply (sum_over_unique (fun a => E (g a)) p); [|apply Pr_sum].
  apply (sum_of_parts p g (image g p)); [intros b; apply Pr_sum|apply Pr_sum].
Qed.

(* The law of a pair whose second part is drawn in view of the first. *)
Program Definition pair_law {A B} (p : law A) (q : A -> law B) : law (A * B) := {| mass := fun ab => p (fst ab) * q (fst ab) (snd ab) |}.
Next Obligation. intros [a b]. apply Rmult_le_pos; apply mass_nonneg. Qed.
Next Obligation.
  apply (sums_pairs (fun a b => p a * q a b) p); [|apply mass_total].
  intros a. pose proof (sum_over_scale everything (q a) 1 (p a) (mass_nonneg p a) (mass_total (q a))) as h. rewrite Rmult_1_r in h. exact h.
Qed.

(* Events as functions, and the probability of one as the mean of its function. *)
Definition decide (P : Prop) : {P} + {~ P} := match sig_not_dec P with left h => left (NNPP P h) | right h => right h end.
Definition indicator {A} (E : A -> Prop) (a : A) : R := if decide (E a) then 1 else 0.

Lemma indicator_nonneg {A} (E : A -> Prop) : nonneg (indicator E).
Proof. intros a. unfold indicator. destruct (decide (E a)); lra. Qed.

Lemma Pr_indicator {A} (p : law A) E : sums (fun a => p a * indicator E a) (Pr p E).
Proof.
  apply (sum_over_support E).
  - intros a. apply Rmult_le_pos; [apply mass_nonneg|apply indicator_nonneg].
  - intros a n. unfold indicator. destruct (decide (E a)); [contradiction|ring].
  - apply (sum_over_ext E E p); [tauto| |apply Pr_sum]. intros a e. unfold indicator. destruct (decide (E a)); [ring|contradiction].
Qed.

Lemma Pr_listed {A} (p : law A) (l : list A) : NoDup l -> Pr p (fun a => In a l) = sum p l.
Proof.
  intros n. apply (sum_over_unique _ _ _ _ (Pr_sum p _)). apply sum_over_intro; [|auto].
  intros l' n' i. apply sum_incl; [apply mass_nonneg|exact n'|exact i].
Qed.

(* The probability of an event of a pair, by the first part. *)
Lemma Pr_pair {A B} (p : law A) (q : A -> law B) E : sums (fun a => p a * Pr (q a) (fun b => E (a, b))) (Pr (pair_law p q) E).
Proof.
  destruct (sum_over_exists everything (fun a => p a * Pr (q a) (fun b => E (a, b))) 1) as [s h].
  - intros l n i. apply Rle_trans with (sum p l); [|apply (sum_over_bound _ _ _ l (mass_total p) n i)].
    apply sum_le. intros a _. rewrite <- Rmult_1_r. apply Rmult_le_compat_l; [apply mass_nonneg|apply Pr_le_1].
  - replace (Pr (pair_law p q) E) with s; [exact h|]. apply (sum_over_unique everything (fun ab => pair_law p q ab * indicator E ab)); [|apply Pr_indicator].
    apply (sum_over_ext everything everything (fun ab => p (fst ab) * (q (fst ab) (snd ab) * indicator E (fst ab, snd ab)))); [tauto| |].
    + intros [a b] _. simpl. ring.
    + apply (sums_pairs (fun a b => p a * (q a b * indicator E (a, b))) (fun a => p a * Pr (q a) (fun b => E (a, b))) s); [|exact h].
      intros a. apply sum_over_scale; [apply mass_nonneg|]. exact (Pr_indicator (q a) (fun b => E (a, b))).
Qed.

(* What holds for events holds for functions from 0 to 1. *)
Lemma mean_ratio {A} (p q : law A) c delta (g : A -> R) s t :
  0 <= c -> (forall E, Pr p E <= c * Pr q E + delta) -> (forall a, 0 <= g a <= 1) ->
  sums (fun a => p a * g a) s -> sums (fun a => q a * g a) t -> s <= c * t + delta.
Proof.
  intros c0 h g1 hs ht. apply (sum_over_least _ _ _ _ hs). intros l n i.
  apply (by_partition (fun a => c * q a <= p a) l). intros yes no y o io nd e. destruct (nd n) as [ny _].
  assert (N : sum (fun a => p a * g a) no <= c * sum (fun a => q a * g a) no).
  { rewrite <- sum_scale. apply sum_le. intros a j. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply g1|].
    pose proof (o a j) as k. apply Rnot_le_lt in k. lra. }
  assert (Y : sum (fun a => p a * g a) yes - c * sum (fun a => q a * g a) yes <= sum p yes - c * sum q yes).
  { clear - y g1. induction yes as [|a yes IH]; simpl; [lra|].
    assert (sum (fun a => p a * g a) yes - c * sum (fun a => q a * g a) yes <= sum p yes - c * sum q yes) by (apply IH; intros b j; apply y; right; exact j).
    assert ((p a - c * q a) * g a <= (p a - c * q a) * 1); [|lra].
    apply Rmult_le_compat_l; [pose proof (y a (or_introl eq_refl)); lra|apply g1]. }
  pose proof (h (fun a => In a yes)) as hy. rewrite !Pr_listed in hy by exact ny.
  pose proof (sum_over_bound _ _ _ l ht n i) as b. rewrite e in b. apply (Rmult_le_compat_l c) in b; [|exact c0]. rewrite e. lra.
Qed.

Lemma pair_ratio {A B} (p p' : law A) (q q' : A -> law B) c1 c2 d1 d2 :
  0 <= c1 -> 0 <= c2 -> 0 <= d2 ->
  (forall E, Pr p E <= c1 * Pr p' E + d1) -> (forall a E, Pr (q a) E <= c2 * Pr (q' a) E + d2) ->
  forall E, Pr (pair_law p q) E <= c1 * c2 * Pr (pair_law p' q') E + (d1 + d2).
Proof.
  intros c10 c20 d20 hp hq E. set (g := fun a => Rmin 1 (c2 * Pr (q' a) (fun b => E (a, b)))).
  assert (g1 : forall a, 0 <= g a <= 1).
  { intros a. split; [|apply Rmin_l]. apply Rmin_glb; [lra|]. apply Rmult_le_pos; [exact c20|apply Pr_nonneg]. }
  assert (some : forall r : law A, {u | sums (fun a => r a * g a) u}).
  { intros r. apply (sum_over_exists _ _ 1). intros l n i. apply Rle_trans with (sum r l); [|apply (sum_over_bound _ _ _ l (mass_total r) n i)].
    apply sum_le. intros a _. rewrite <- Rmult_1_r. apply Rmult_le_compat_l; [apply mass_nonneg|apply g1]. }
  destruct (some p) as [s hs]. destruct (some p') as [t ht].
  pose proof (mean_ratio p p' c1 d1 g s t c10 hp g1 hs ht) as m.
  assert (Pr (pair_law p q) E <= s + d2) as a.
  { apply (sum_over_least _ _ _ _ (Pr_pair p q E)). intros l n i.
    apply Rle_trans with (sum (fun a => p a * g a) l + d2 * sum p l).
    - rewrite <- sum_scale. clear - hq d20. induction l as [|a l IH]; simpl; [lra|].
      assert (Pr (q a) (fun b => E (a, b)) <= g a + d2) as k.
      { unfold g, Rmin. destruct (Rle_dec 1 _); [pose proof (Pr_le_1 (q a) (fun b => E (a, b))); lra|apply hq]. }
      apply (Rmult_le_compat_l (p a)) in k; [|apply mass_nonneg]. lra.
    - pose proof (sum_over_bound _ _ _ l hs n i). pose proof (sum_over_bound _ _ _ l (mass_total p) n i) as one.
      apply (Rmult_le_compat_l d2) in one; [lra|exact d20]. }
  assert (t <= c2 * Pr (pair_law p' q') E) as b.
  { apply (sum_over_le _ _ _ _ _ ht (sum_over_scale _ _ _ c2 c20 (Pr_pair p' q' E))). intros x _.
    rewrite (Rmult_comm c2), Rmult_assoc. apply Rmult_le_compat_l; [apply mass_nonneg|]. rewrite (Rmult_comm _ c2). apply Rmin_r. }
  apply (Rmult_le_compat_l c1) in b; [|exact c10]. lra.
Qed.

(* Where there are neighbours, delta is not below 0. *)
Lemma delta_nonneg {X A} adj eps delta (M : X -> law A) x y : approximately_private adj eps delta M -> adj x y -> 0 <= delta.
Proof.
  intros h n. specialize (h x y n (fun a => In a [])). rewrite !Pr_listed in h by constructor. simpl in h. lra.
Qed.
